# several elements or names: a line for each, in the order typed
run set add tags red green blue red
run set has tags green white blue
run set has tags green white blue --json
run -q set has tags green white
run -q set add tags black
run set remove tags red white green --json
run set remove tags white gray
run set add bags a b a --bag
run set remove bags a a a
run visitors hit site ann bob ann --period 0
run online beat site ann bob ann --width 1d
mcds -q table put hosts web1 10.0.0.1
mcds -q table put hosts web2 "$(printf 'two\nlines')"
run table get hosts web2 none web1
run table get hosts web2 none web1 --json
run table get hosts web1 web2 --raw
run table get hosts web1 --raw
run table has hosts web1 none
run table remove hosts web1 none web2
mcds counter add one >/dev/null
mcds -q counter add four 4 --stripes 4
mcds -q counter add five 5 --exact
run counter get one none four five
run set count tags bags none
run table count hosts tags
mcds -q list push jobs a b c
run list count jobs none
run visitors get site none --period 0
run visitors estimate site none --period 0
run online get site none --width 1d
mcds -q views hit pages home 3 --database lmdb:./kept.mdb
run views get pages home none --database lmdb:./kept.mdb
# one operation
run list push jobs d e
run list scan jobs
# a failure names the element, and the first code of 64 or more is the exit code
mcds counter add hits >/dev/null
run set has hits a b
mcds -q table put mixed a 1
run -s memory: set has tags a b
run set add tags '' a
run set add tags "$(printf 'odd\nname')" -- -x -
run set has tags "$(printf 'no\nname')" -
run set has tags a -x
run set add tags a -
run set add tags - a
run list push jobs - a
run set drop tags bags
run counter take one four
run counter add one 2 3
echo '$ mcds batch'
printf 'set has tags a b\nset has tags black\n' | mcds batch
echo "-> $?"
# each has its own reason
long=$(printf '%01025d' 7)
mcds set add many $(seq 1200) | sort | uniq -c
mcds set count many
mcds -q set remove many $(seq 1199)
mcds set scan many
mcds set add many 7 "$long"
echo "-> $?"
