# A command runs once for each key; later callers print the same and exit with the same code.
run once k -- sh -c 'echo out; echo told >&2; printf more; exit 3'
run once k -- echo not run
run -q once k --no-wait -- echo not run
run once k --in other -- sh -c 'echo "$MCDS_ONCE_KEY"'
mcds once k --info | cut -f 1,2
hide_ms() { sed 's/_ms":[0-9]*/_ms":N/g'; }
mcds once k --info --json | hide_ms
run once none --info
run once none --info --json
run once none --forget
run once empty -- true
run once empty -- echo not run
printf 'in\nput\n' | mcds once in -- cat
run once in -- false
# failures
run once fails --retry-failed -- false
run once fails --retry-failed -- sh -c 'echo "ok now"'
run once fails -- false
run once nothing -- ./nothing
run once nothing -- echo runs
run once segv -- sh -c 'echo x; kill -SEGV $$'
run once segv -- echo not run
run once term -- sh -c 'echo x; kill -TERM $$'
run once term -- echo runs
run once strict --strict --run 3s -- sh -c 'kill -KILL $$'
run once strict --strict -- echo not run
mcds once strict --info
run once strict --settle 4 receipt
run once strict --strict -- echo not run
run once strict --settle 5 other
run once strict --settle 5 other --json
run once strict --forget
run once strict --strict -- echo runs
# beside a caller that runs
hide_s() { sed 's/in [0-9.]* s/in N s/'; }
mcds once busy -- sh -c '
    mcds once busy -n -- true; echo "-> $?"
    mcds once busy -w 3s -- true; echo "-> $?"
    mcds once busy -n -E 3 -- true; echo "-> $?"
    mcds -q once busy -n -- true; echo "-> $?"
    mcds once busy --settle 0 x; echo "-> $?"
    mcds once busy --info | cut -f 1,2' 2>told
hide_s <told
mcds once busy --info | cut -f 1,2
run once dashes -- mcds once dashes-too -- echo a -- b
# in bulk
printf 'once a --settle 0 one\nonce a --settle 1\nonce a --in b --settle 2 two\nonce a --info\nonce a --forget\nonce a --info\n' |
    mcds batch | cut -f 1,2
seq 3 | mcds once whole --settle 0 -
run once whole -- false
run once a --in b -- echo not run
# what is refused
run once
run once k
run once k output -- true
run once k --settle
run once k --settle 256
run once k --settle 0 --forget
run once k --info -- true
run once k -w 1s -n -- true
run once k --keep 0 -- true
run once k --run 49ms -- true
run once k --in '' -- true
run once k --
run once k --stric -- true
run -s memory: once k -- echo nobody sees it
# once is a noun
run ls
run rm other --yes
run dump other
run idempotency k
