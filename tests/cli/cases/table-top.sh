# the greatest numbers of a table, also negative ones and equal ones
run table top none
mcds -q table put t a 5
mcds -q table put t b -7
mcds -q table put t c 9223372036854775807
mcds -q table put t d 5
mcds -q table put t "$(printf 'e\tf')" -9223372036854775808
mcds -q table put t g 0
run table top t
run table top t --limit 3
run table top t --limit 3 --json
run table top t --limit 0
run table top t --limit 18446744073709551615
mcds -q table put t word nine
mcds -q table put t empty ''
printf '1\0' | mcds -q table put t zero -
mcds -q table put t large 9223372036854775808
run table top t --limit 1
run table top t --limit 1 --json
# of many entries the same as a sort
seq 1 3000 | awk '{ print "k" $1 "\t" ($1 * 7919) % 3001 }' >entries
mcds -q table put many - <entries
mcds table top many --limit 500 >top
sort -t "$(printf '\t')" -k 2,2nr -k 1,1 entries | head -n 500 | cmp - top && echo the same
mcds table top many | wc -l
echo 'table top t' | run batch
