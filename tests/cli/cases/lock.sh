run lock job -- true
run lock job -- sh -c 'exit 7'
run lock job -- sh -c 'kill -TERM $$'
run lock job -- ./nothing
run lock job -- /dev/null
run lock job --info
run lock job --break
run lock job --drop
run lock other --drop
run lock job -- mcds lock job --drop
run lock job --label me -- sh -c 'echo "$MCDS_LOCK_NAME"; mcds lock job --info | cut -f 1'
run lock job --label me -- sh -c 'mcds lock job --info | cut -f 3 |
    { read -r fence; [ "$fence" = "$MCDS_LOCK_FENCE" ] && echo same fence; }'
run lock job -- sh -c '[ "$MCDS_LOCK_DEADLINE" -gt "$(date +%s000)" ] && echo later'
hide() { sed 's/for [0-9.]* s/for N s/'; }
mcds lock job --label me -- sh -c '
    mcds lock job -n -- true; echo "-> $?"
    mcds lock job -w 1s -- true; echo "-> $?"
    mcds lock job -n -E 3 -- true; echo "-> $?"
    mcds lock job -nE 0 -- true; echo "-> $?"
    mcds -q lock job -n -- true; echo "-> $?"' 2>busy
hide <busy
printf 'one\ntwo\n' | mcds lock job -- cat
run -s memory: lock job -- echo nobody is kept out
run -s memory: list push jobs a
run -s memory: list get jobs
printf 'a\nb\n' | mcds -s memory: list push jobs
printf 'list push jobs a\n' | mcds -s memory: batch
# a lock is broken, not dropped
mcds lock broken -- sh -c 'mcds lock broken --break; mcds lock broken --drop' 2>/dev/null
echo "-> $?"
