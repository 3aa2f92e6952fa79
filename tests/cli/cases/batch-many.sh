# one line for each command, however much it has to tell
cat >commands <<'END'
set add numbers 1 --list
set add numbers 3 --list
set add numbers 4 --list
set remove numbers 3 --list
set add numbers 5 --list
set scan numbers --list
set has numbers 4 --list
set has numbers 3 --list
set remove numbers 3 --list
set scan numbers
set drop numbers --list
set scan numbers --list
table put hosts web1 10.0.0.1
table put hosts web1 10.0.0.2
table put hosts web1 "two\twords and a 'quote'"
table put hosts web1 $'a\ttab'
table put hosts web1 other --if-absent
table get hosts web1
table scan hosts
table scan hosts --limit 1
table incr hosts n 7
table incr hosts n
table incr hosts web1
table remove hosts n
table remove hosts web1
table scan hosts
table drop hosts
set add numbers
set add numbers -
table put hosts web1 -
table put hosts web1 -- -
table get hosts web1
table get hosts web1 --raw
END
# A cursor is a place among hashes under a random key.
hidden() {
    "$@" <commands >told 2>said
    status=$?
    sed -E 's/(cursor[": ]+)[0-9]+/\1NUMBER/' told
    sed -E 's/(cursor[": ]+)[0-9]+/\1NUMBER/' said >&2
    return $status
}
hidden mcds batch
echo "-> $?"
mcds table drop hosts
hidden mcds --json batch
echo "-> $?"
# the last of many on one key wins
seq 300 | sed 's/.*/table put race key &/' | mcds batch | sort | uniq -c
mcds table get race key
seq 300 | sed 's/.*/key\t&/' | mcds table put race
mcds table get race key
for i in $(seq 60); do printf 'set add flip %d\nset remove flip %d\n' $((i % 3)) $((i % 3)); done >flips
mcds batch <flips | sort | uniq -c
