mcds counter add x >/dev/full
echo "-> $?"
mcds counter add x >&-
echo "-> $?"
mcds help >/dev/full
echo "-> $?"
echo 'counter add x' | mcds batch >/dev/full
echo "-> $?"
mcds lock x -- true >&-
echo "-> $?"
mcds counter add x 2>&-
echo "-> $?"
mcds counter get none 2>&-
echo "-> $?"
# A reader that has gone: the fifo's other end is closed before mcds writes.
mkfifo gone
sh -c 'exec 3<gone; exec 3<&-; : >closed' &
exec 4>gone
wait $!
mcds counter add x >&4
echo "-> $?"
