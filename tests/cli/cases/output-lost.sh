# not with tsan: the thread sanitizer writes a file when it starts
# The output is refused before a change where that can be known, else the sentence says that it was made.
mcds counter add x 5
mcds counter take x >/dev/full
echo "-> $?"
mcds counter take x >&-
echo "-> $?"
mcds -q counter take x >&-
echo "-> $?"
mcds counter get x
mcds -q counter add quiet >/dev/null
mcds -q list push quiet a >&-
echo "-> $?"
mcds list scan quiet
# A file that may not grow is known only when it is written.
limited() {
    (ulimit -f 0 && exec mcds "$@" >limited)
    echo "-> $?"
}
limited counter get x
limited -s memory: counter add x
limited -s memory: counter take x
limited -s memory: table put t k v
limited -s memory: table incr t k
limited -s memory: set add s e
limited -s memory: list push l v
limited -s memory: array set a v
limited -s memory: log put g v
limited -s memory: visitors hit v ann
limited -s memory: online beat o ann
printf '1\n2\n2\n' | limited -s memory: set add s
printf '1\n2\n2\n' | limited -s memory: list push l
printf 'counter add x 7\ncounter take x\ncounter add y\ncounter get y\n' | limited -s memory: batch
# A reader that has gone: the fifo's other end is closed before mcds writes.
mkfifo gone
sh -c 'exec 3<gone; exec 3<&-; : >closed' &
exec 4>gone
wait $!
mcds counter add x 8 >&4
echo "-> $?"
mcds counter get x >&4
echo "-> $?"
mcds counter take x >&4
echo "-> $?"
