# store: lmdb
# Every failure prints an object, also one before the store is open.
for command in "counter get a" "lock a -- true" "set add a e" "set add a" ls batch "log tail a" "backup f"; do
    # shellcheck disable=SC2086 # words
    run --json -s x: $command </dev/null
done
run --json -s lmdb:/nowhere/at/all counter get a
run --json -s memory: lock a -- true
mcds counter add a
run --json backup copy
run --json backup copy
