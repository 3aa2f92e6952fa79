# a line for each element, and what it answers
printf '1\n2\n3\n2\n' | mcds set add ids
mcds set scan ids | sort
printf '3\n9\n' | mcds set remove ids -
printf '3\n9\n' | mcds --json set remove ids -
printf 'web1\t10.0.0.1\nweb2\t10.0.0.2\tand more\nweb1\t10.0.0.9' | mcds table put hosts
mcds table scan hosts | sort
printf 'web1\tx\nweb7\ty\n' | mcds table put hosts --if-absent
printf 'web1\nweb7\nweb8\n' | mcds -q table remove hosts
mcds table scan hosts
# what one prints, the other reads
printf '%b' 'tab\0011\n' | tr '\001' '\t' | mcds set add odd
printf 'nul\000, \\ and \047\n\377\376\n$HOME\n-\n' | mcds set add odd
mcds set add odd "$(printf "\$'quoted'")"
mcds set add odd -- -
mcds set add odd "$(printf 'a\r\nb')"
mcds set scan odd | LC_ALL=C sort >odd
od -c odd
mcds set add again <odd
mcds set scan again | LC_ALL=C sort | diff odd - && echo same
mcds --json set scan odd | LC_ALL=C sort
sed "s/.*/key\\t&/" odd | tail -n 1 | mcds table put odd
mcds table get odd key
# all of it as one value
printf 'a\n\000b\n' | mcds table put files notes -
mcds table get files notes
mcds table get files notes --raw | od -c
printf '' | mcds table put files nothing -
run table get files nothing
mcds table put files dash -- -
mcds table get files dash
# an empty first line is an empty element
for of in "list push" "log put" "array set"; do
    # shellcheck disable=SC2086 # two words
    printf '\nb\n' | mcds $of blank
    mcds "${of%% *}" scan blank | cut -f 2 | od -c
done
# what is wrong with it
printf 'fine\n\n%01025d\n%s\nlast\n' 7 "\$'open" | mcds set add picky
echo "-> $?"
printf 'no tab\nk\tv\n\tv\n' | mcds table put picky
echo "-> $?"
printf '\n' | mcds --json set add picky
echo "-> $?"
head -c 5000000 /dev/zero | tr '\0' x | mcds set add picky
echo "-> $?"
mcds set add picky <&-
echo "-> $?"
mcds set add picky </dev/null
echo "-> $?"
mcds table put files notes - <&-
echo "-> $?"
mcds set add picky a b
mcds set has picky -
# Whether its time was up before or after the last try is chance.
head -n 1 odd | mcds set add none -s memcached:///nowhere.sock --timeout 1s >seen 2>&1
echo "-> $?"
sed 's/add: .*/add: .../' seen
seq 3000 | mcds set add many
mcds set scan many | sort -n | tail -n 1
mcds set scan many | wc -l
