# each option that may differ from what a structure was made with is named as the command spells it
differ() { # the option and its two values, then the words
    option=$1 first=$2 second=$3
    shift 3
    mcds "$@" "$option" "$first" >/dev/null
    echo "\$ mcds $* $option $second"
    mcds "$@" "$option" "$second" 2>said
    echo "-> $?"
    cat said
    for word in $(grep -o -e ' --[a-z-]*' said); do
        mcds help "$1" "$2" | grep -q -e "$word[ ,]" || echo "$1 $2 has no option $word"
    done
}
set_or_not() { # as differ, of an option without a value
    option=$1
    shift
    mcds "$@" "$option" >/dev/null
    echo "\$ mcds $*"
    mcds "$@"
    echo "-> $?"
}
differ --stripes 2 3 counter add stripes
differ --stripes 2 3 queue push jobs job --may-lose
differ --period 1d 7d visitors hit period ann
differ --period 1d 0 visitors hit days ann
differ --period 0 1d visitors hit ever ann
differ --buckets 3 5 online beat buckets ann
differ --width 1m 2m online beat width ann
differ --flush-every 1m 2s views hit every page --database lmdb:views
differ --retention 30d 7d log put retention event
differ --chunk 10m 20m log put chunk event
differ --late 1m 2m log put late event
differ --ahead 1s 2s log put ahead event
set_or_not --exact visitors hit exact ann
set_or_not --estimated visitors hit estimated ann
set_or_not --exact online beat exact ann
set_or_not --bag set add bag a
set_or_not --list set add list a
set_or_not --by-arrival log put arrival event
mcds log put late event --by-arrival
echo "-> $?"
