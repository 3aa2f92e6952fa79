# whoever uses something with other options than it was made with is told
mcds -q set add plain a
mcds -q set add bag a --bag
mcds -q set add list a --list
mcds -q visitors hit exact ann --exact
mcds -q visitors hit guess ann --estimated
mcds -q online beat exact ann --exact --width 1d
mcds -q online beat guess ann --estimated --width 1d
mcds -q counter add plain
mcds -q counter add down -5
mcds -q counter add exact --exact
mcds -q visitors hit plain ann
mcds -q visitors hit day ann --period 1d
mcds -q online beat plain ann --width 1d
mcds -q counter add wide --stripes 4
mcds -q log put day event --retention 1d --chunk 1h --late 5m --ahead 1s
mcds -q log put arrival event --by-arrival
while read -r line; do
    echo "\$ mcds $line"
    eval "mcds $line" </dev/null 2>&1
    echo "-> $?"
done <<'END' | sed 's/add: [^ ]*, key/add: STORE, key/'
set add plain b --bag
set remove plain a --list
set has plain a --bag
set scan plain --list
set drop plain --bag
set add bag b
set scan bag --list
set scan list
set scan list --json --bag
visitors hit exact bob --estimated
visitors get exact --estimated
visitors drop exact --estimated
visitors hit guess bob --exact
visitors estimate guess --exact
online beat exact bob --estimated --width 1d
online get guess --exact --width 1d
online drop guess --exact --width 1d
visitors hit exact bob
visitors get plain --exact
visitors drop plain --estimated
visitors hit day bob --period 1h
visitors get day
visitors estimate plain --period 1d --json
online beat exact bob --width 1d
online get plain --width 1d --exact
online beat plain bob
online drop plain --width 1d --buckets 3
counter add wide
counter get wide --stripes 5
counter add wide --exact
counter add plain --stripes 4
counter drop exact --stripes 2
counter add plain --exact
counter get plain --exact
counter add exact
counter get exact
counter drop exact
counter drop exact --exact
counter add exact --exact --copies 2
counter get exact --copies 3
counter add down --plain
counter add down --plain -- -1
counter get down
log put day event --retention 2d
log put day event --chunk 2h
log put day event --late 6m
log put day event --ahead 2s
log put day event --by-arrival
log put day event --retention 1d
log put arrival event --retention 1h --json
log put fresh event --late 8d
log put fresh event --chunk 1s --late 1h
log put fresh event --retention 366d --chunk 1m
END
# and nothing has changed
mcds set scan plain
mcds set scan bag --bag
mcds set scan list --list
mcds visitors get exact --exact
mcds visitors get guess --estimated
mcds visitors get plain
mcds visitors get day --period 1d
mcds online get plain --width 1d
mcds counter get wide --stripes 4
mcds log scan day | wc -l
mcds log scan arrival | wc -l
mcds -q log put push_many event --retention 1d
run log put push_many event --retention 2d
