# store: lmdb
# What is told of lines that a full store did not take is what it holds, for the list and the log.
for of in "list push" "log put"; do
    store="lmdb:$PWD/${of%% *}?map_max=1100000&timeout=60000"
    # shellcheck disable=SC2086 # two words
    seq 100000 | mcds -s "$store" $of full >told 2>said
    echo "-> $?"
    held=$(mcds -s "$store" "${of%% *}" scan full | wc -l)
    test "$held" -gt 1000 && echo many
    echo "told: $(sed "s/$held/HELD/" told)"
    sed "s/line $((held + 1)):/line HELD + 1:/; s/lines $((held + 1))-/lines HELD + 1-/; s/: $held lines/: HELD lines/
        s/-[0-9]*$/-END/; s/after line [0-9]* was/after line END was/; s,: /.*/,: ," said
    # who makes room and repeats from that line on has each value once
    store="lmdb:$PWD/${of%% *}?timeout=60000"
    # shellcheck disable=SC2086 # two words
    seq $((held + 1)) 40000 | mcds -s "$store" $of full >/dev/null
    mcds -s "$store" "${of%% *}" scan full | cut -f 2 >after
    seq 40000 | cmp - after && echo whole
done
