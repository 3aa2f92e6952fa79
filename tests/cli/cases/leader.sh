run -q leader run job --once -- sh -c 'echo "$MCDS_LOCK_NAME"; exit 7'
run -q leader run job -- ./nothing
run -q leader job --once -- echo without run
run -q leader run job --once --label me -- sh -c 'mcds leader who job | cut -f 1; mcds lock job --info | cut -f 1'
mcds -q leader run job --once -- sh -c 'mcds leader who job | cut -f 3 |
    { read -r fence; [ "$fence" = "$MCDS_LOCK_FENCE" ] && echo same fence; }'
run leader who job
run --json leader who job
run leader who job other
printf 'leader who job\nleader run job -- true\n' | mcds batch
mcds leader watch job | head -n 1 | cut -f 2
mcds leader watch job --json | head -n 1 | cut -d , -f 2-
run -s memory: leader run job -- echo nobody is kept out
run -s memory: leader watch job
