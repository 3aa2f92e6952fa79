printf 'counter add a\ncounter add nul\000byte\ncounter add a\n' | mcds batch
echo "-> $?"
{
    echo 'counter add a'
    printf 'counter add %01025d\n' 1
    printf 'counter add %016384d\n' 1
    printf 'counter add %0200000d\n' 1
    echo 'counter add a'
} | mcds batch
echo "-> $?"
printf '%0200000d' 1 | mcds batch
echo "-> $?"
mcds batch <<'END'
lock job -- true
lock job
batch
ls
doctor
help
completion bash
counter --help
--version
counter get a --json
-s memory: counter get a
-N other counter get a
mcds counter get a
counter get a
END
echo "-> $?"
