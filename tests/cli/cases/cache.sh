# A cache: one runs the command, the others get its output.
value() { mcds cache get pages "$@"; echo "-> $?"; }
value /home -- printf 'one\n'
value /home -- printf 'two\n'
value /home
run cache get pages /home --json
run cache forget pages /home
value /home
value /home -- sh -c 'echo part; exit 5'
run cache forget pages /home
run cache forget pages /home --json
value none --nothing 4 -- sh -c 'exit 4'
value none --nothing 4 -- printf 'kept\n'
value tagged --tag a --tag b --stale 10m -- printf 'one\n'
run cache forget pages --tag b
run cache forget pages --tag b --json
value tagged --tag a --tag b --stale 10m -- printf 'two\n'
run cache hold pages tagged --tag a --for 10s -- printf 'changed\n'
value tagged --tag a -- printf 'three\n'
run cache hold pages tagged -- sh -c 'exit 9'
value tagged
printf 'a\0b' >bytes
value binary -- cat bytes | od -c | head -n 1
value ripe --ttl 1h --stale 10m -- printf 'ripe\n'
run cache expire pages ripe
run cache expire pages ripe --json
value ripe
value ripe --stale 10m -- printf 'fresh\n'
run cache expire pages none
value bare --ttl 1h -- printf 'bare\n'
run cache expire pages bare
value bare
run ls
run cache clear pages
value binary
value /home --ttl 0 -- true
value /home --
value -k -- printf 'a key with a minus\n'
value -- -k -- printf 'a key with a minus\n'
value -- -k --
run cache forget pages -- -k
run cache get pages
run cache forget pages
run cache forget pages /home --tag a
run cache forget pages --tag a --tag b
run cache hold pages -- true
run cache hold pages /home
value x -- ./missing
run dump --all
run rm pages --yes
value /home -- printf 'again\n'
run cache drop pages
run cache drop pages
