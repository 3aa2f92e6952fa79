# not with asan: cli/matrix gives each verb wrong words, and usage the parser
# what every verb says to names, options and arguments that are none
verbs() {
    cat <<END
counter add NAME
counter get NAME
counter take NAME
counter drop NAME
lock NAME --info
visitors hit NAME
visitors get NAME
visitors estimate NAME
visitors drop NAME
online beat NAME ann
online get NAME
online drop NAME
views hit NAME page
views get NAME page
views flush NAME
set add NAME a
set remove NAME a
set has NAME a
set scan NAME
set drop NAME
table put NAME key value
table get NAME key
table has NAME key
table remove NAME key
table incr NAME key
table scan NAME
table drop NAME
list push NAME a
list scan NAME
list clear NAME
list drop NAME
log put NAME a
log scan NAME
log tail NAME
log drop NAME
array scan NAME
array set NAME a
array change NAME --add a
array drop NAME
END
}
long=$(printf '%01025d' 7)
each() {
    while read -r noun verb rest; do
        echo "$noun $verb: $1"
        eval "mcds $(echo "$noun $verb $rest" | sed "$2")" </dev/null 2>&1
        echo "-> $?"
    done
}
verbs | each 'an empty name' "s/NAME/''/"
verbs | each 'a name of 1025 bytes' "s/NAME/$long/"
verbs | each 'no name' 's/NAME.*//'
verbs | each 'an unknown option' 's/$/ --nonsense/'
verbs | grep -v ' \(get\|has\|estimate\|hit\|beat\|remove\) \|set add\|list push\|log put\|array set' |
    each 'one argument too many' 's/$/ b c/'
mcds views hit NAME page 1 c
echo "-> $?"
# none of them is in the way of a batch
verbs | sed "s/NAME/''/" | mcds batch 2>&1 | sort | uniq -c
# bytes that cannot be typed: a command line has no NUL, and a batch refuses it
printf 'set add tags \000\nlist push jobs \000\ntable put hosts web1 \000\n' | mcds batch
echo "-> $?"
# where an element is one word of 1024 bytes at most
for noun in 'visitors hit site' 'online beat site' 'views hit site' 'set add tags' 'table incr hosts'; do
    mcds $noun "$long"
    echo "-> $?"
done
# numbers
for words in 'counter add c 2305843009213693952' 'counter add c 1e3' 'counter add c ""' 'table incr t k 1.5' \
    'views hit site page -1' 'views hit site page many' 'list scan l --skip -1' 'list scan l --limit x' \
    'table scan t --cursor x' 'log tail l --last x' 'log tail l --last -1' 'counter add c --copies 0' \
    'counter add c --stripes 33' 'online get o --buckets 33' 'online get o --width 10ms' \
    'visitors get v --period 10ms' 'visitors get v --period forever' 'log put l e --retention 1' \
    'log put l e --retention 900d' 'log put l e --chunk 1ms' 'log put l e --late 1w' \
    'table put t k v --ttl never'; do
    echo "\$ mcds $words"
    eval "mcds $words" </dev/null
    echo "-> $?"
done 2>&1
