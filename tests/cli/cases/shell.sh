# Lines as typed after mcds, and what a shell refuses.
mcds shell <<'END'
counter add hits 5
table put t "a key" 'a  value'   # a comment

table get t "a key" none
mcds table get t $'a\x20key' --json
lock job -- echo ran
set add s a b
set count s
table put t "open
table put t $'\q' v
nonsense
set add s -
-N other counter get hits
shell
ls
exit
counter add hits
END
echo "-> $?"
echo 'counter get hits' | mcds -q shell
printf 'counter get none\ncounter get hits\n' | mcds shell --bail
echo "-> $?"
run help shell
