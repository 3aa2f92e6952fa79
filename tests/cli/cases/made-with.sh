# what a structure was made with need not be given to read or erase it
run counter add striped 5 --stripes 4
run counter get striped
run counter take striped
run counter get striped --stripes 3
run counter drop striped
run counter add exact 5 --exact
run counter get exact
run counter drop exact
run visitors hit page ann --period 0 --exact
run visitors get page
run visitors estimate page --period 1d
run visitors drop page
run online beat here ann --width 1d --buckets 3
run online get here
run online drop here
run set add bag a --bag
run set has bag a
run set scan bag
run set remove bag a
run set drop bag
run set add line b --list
run set scan line
run set add line c
printf 'set add x a --list\nset has x a\nset drop x\nset add x a --bag\nset has x a\nset add x a\nset drop x\n' | mcds batch
echo "-> $?"
