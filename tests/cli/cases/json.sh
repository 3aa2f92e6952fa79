hide() { sed -e 's/"since":[0-9]*/"since":N/' -e 's/"fence":"[0-9]*"/"fence":"N"/' \
    -e 's/"remaining_ms":[0-9]*/"remaining_ms":N/'; }
run --json counter add c 5
run counter get c --json | hide
run counter add c 9007199254740992 --json
run counter take c --json
run counter drop c --json
run counter get c --json
run --json visitors hit v alice --period 300d
run --json visitors hit v alice --period 300d
run --json visitors hit v --period 300d
run --json visitors get v --period 300d
run --json visitors estimate v --period 300d
run --json visitors drop v --period 300d
run --json online beat o alice --width 1d
run --json online beat o alice --width 1d
run --json online get o --width 1d
run --json online drop o --width 1d
run --json lock l --info
mcds lock l --label 'web "1"' -- mcds --json lock l --info | hide
run --json lock l --break
run --json counter add 'a "b"
c'
printf 'counter add c\nnonsense\n\ncounter add \377\n' | mcds --json batch
echo "-> $?"
