# times of arrival are hidden, times that are given are not
hide() { sed 's/^[0-9TZ:.-]*	/WHEN	/; s/"at":"[^"]*"/"at":"WHEN"/; s/_ms":[0-9]*/_ms":N/g'; }
fetch() { echo "\$ mcds log scan $*"; mcds log scan "$@" | hide; }
run log scan deploys
run log tail deploys
run log put deploys "v42 on web3"
run log put deploys 'v42 on web4' 'v42 on web5'
fetch deploys
fetch deploys --newest-first
fetch deploys --limit 1
fetch deploys --limit 1 --newest-first
fetch deploys --from 1h
fetch deploys --to 1h
fetch deploys --from 1h --to now --json
mcds log tail deploys | hide
mcds log tail deploys --last 1 | hide
mcds log tail deploys --from 1h | hide
mcds --json log tail deploys --last 1 | hide
run log put deploys late --at 210m
mcds log put deploys early --at "$(date -u -d '+210 minutes' +%FT%TZ)"
echo "-> $?"
run log put deploys fine --at 1s
run log put deploys wrong --at yesterday
run log put deploys wrong --at 1795257015
run log put deploys other --retention 30d
run -q log put deploys quiet
run log tail deploys --from 1h --last 3
mcds log tail deploys --cursor seen | hide
mcds log tail deploys --cursor seen
mcds log put deploys new newer
mcds log tail deploys --cursor seen | hide
echo nonsense >wrong
run log tail deploys --cursor wrong
printf '\n4:' >wrong
run log tail deploys --cursor wrong
run log tail deploys --cursor .
mcds log tail deploys --cursor no/such/folder >/dev/null
echo "-> $?"
run log drop deploys
run log drop deploys
run log scan deploys
run log put
run log put ''
# events of long ago, and any bytes
run log put old --by-arrival --at 2020-01-01T12:00:00.250+02:00 'a day'
mcds log put old --by-arrival --at @1577872800.5 "$(printf 'two\nlines')"
printf 'nul\000\n\n\377\n' | mcds log put old --at 2020-01-01T12:00Z
mcds log scan old
mcds --json log scan old | sed 's/"filed_ms":[0-9]*/"filed_ms":N/'
mcds log put old plain --retention 1h
mcds log scan old >old
mcds log put copy --timed --by-arrival <old
mcds log scan copy | cmp - old && echo same
printf 'no time\n2020-01-01\tfine\n\tno\n7\tno\n' | mcds log put copy --timed
echo "-> $?"
printf 'now\tyes\n1s\tyes\n' | mcds log put lines --timed
echo "-> $?"
mcds log scan lines --from 1h | hide
mcds log put copy --timed --at now <old
mcds log put copy --timed event
seq 3 | mcds log put fresh --at 210m
echo "-> $?"
# no event is of the beginning of Unix time or before, for 0 means now
run log put fresh --by-arrival --at @0 zero
run log put fresh --by-arrival --at 1970-01-01 zero
run log put fresh --by-arrival --at 1969-12-31 earlier
printf '@0\tzero\n1969-12-31\tearlier\nnow\tnow\n@0.001\tfine\n' | mcds log put zero --timed --by-arrival
mcds log scan zero --from @0 | sed '/	now$/s/^[^	]*/WHEN/'
# a line for each event, in their order
seq 3000 | mcds log put many
seq 3000 >many
mcds log scan many | cut -f 2 | cmp - many && echo same
mcds log scan many --newest-first | cut -f 2 | tail -n 1
mcds log tail many | cut -f 2 | tr '\n' ' '
mcds log scan many | head -n 1 | wc -l
mcds log scan many >/dev/full
echo "-> $?"
printf '%s\n' 'log put b one' 'log put b two three' 'log scan b --limit 0' 'log tail b' 'log put b' 'log drop b' \
    'log scan b' | mcds batch
# following: what is there, and what comes
mcds log put live one two three
mcds log tail live -f --last 2 >followed &
tail=$!
wait_for() {
    for i in $(seq 300); do
        grep -q "$1" "$2" 2>/dev/null && return
        sleep 0.1
    done
    echo "no $1"
}
wait_for three followed
mcds -q log put live four
wait_for four followed
printf 'five\nsix\n' | mcds -q log put live
wait_for six followed
kill $tail
wait $tail 2>/dev/null
echo "-> $?"
cut -f 2 followed
# logs that come later, before, while or after their reader looks for them
readers=
for i in $(seq 16); do
    mcds log tail "later$i" -f >"followed$i" &
    readers="$readers $!"
    mcds -q log put "later$i" first
done
for i in $(seq 16); do
    wait_for first "followed$i"
done
kill $readers
wait $readers 2>/dev/null
cat followed? followed?? | cut -f 2 | uniq -c | sed 's/^ *//'
# a reader who goes
(mcds log tail live -f; echo "-> $?" >&2) | head -n 1 | cut -f 2
