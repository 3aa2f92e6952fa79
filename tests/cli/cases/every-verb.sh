# every verb of every noun, plain and as JSON: first on nothing, then on something
verbs() {
    cat <<END
counter add NAME
counter get NAME
counter take NAME
counter get NAME
counter drop NAME
counter drop NAME
counter take NAME
counter add NAME 5 --stripes 4
counter get NAME --stripes 4
counter take NAME --stripes 4
counter drop NAME --stripes 4
counter add NAME 5 --exact
counter get NAME --exact
counter drop NAME --exact
lock NAME --info
lock NAME --break
lock NAME --drop
visitors get NAME --period 0
visitors estimate NAME --period 0
visitors drop NAME --period 0
visitors hit NAME ann --period 0
visitors hit NAME ann --period 0
visitors hit NAME --period 0
visitors get NAME --period 0
visitors estimate NAME --period 0
visitors drop NAME --period 0
visitors hit NAME ann --period 0 --exact
visitors hit NAME ann --period 0 --exact
visitors get NAME --period 0 --exact
visitors estimate NAME --period 0 --exact
visitors drop NAME --period 0 --exact
visitors hit NAME ann --period 0 --estimated
visitors hit NAME ann --period 0 --estimated
visitors get NAME --period 0 --estimated
visitors drop NAME --period 0 --estimated
visitors get NAME --period 0 --estimated
online get NAME --width 1d
online drop NAME --width 1d
online beat NAME ann --width 1d
online beat NAME ann --width 1d
online get NAME --width 1d
online drop NAME --width 1d
online beat NAME ann --width 1d --estimated
online beat NAME ann --width 1d --estimated
online get NAME --width 1d --estimated
online drop NAME --width 1d --estimated
views get NAME page --flush-every 1d --database lmdb:./kept.mdb
views flush NAME --flush-every 1d --database lmdb:./kept.mdb
views hit NAME page 3 --flush-every 1d --database lmdb:./kept.mdb
views get NAME page --flush-every 1d --database lmdb:./kept.mdb
views flush NAME --flush-every 1d --database lmdb:./kept.mdb
views drop NAME --flush-every 1d --database lmdb:./kept.mdb
views hit NAME page 3 --flush-every 1d --database lmdb:./kept.mdb
set has NAME a
set remove NAME a
set scan NAME
set count NAME
set drop NAME
set add NAME a
set add NAME a
set has NAME a
set has NAME b
set scan NAME
set count NAME
set remove NAME b
set remove NAME a
set scan NAME
set count NAME
set drop NAME
set add NAME a --bag
set add NAME a --bag
set scan NAME --bag
set count NAME --bag
set remove NAME a --bag
set has NAME a --bag
set drop NAME --bag
set add NAME a --list
set add NAME a --list
set scan NAME --list
set remove NAME a --list
set scan NAME --list
set drop NAME --list
table get NAME key
table has NAME key
table remove NAME key
table scan NAME
table count NAME
table drop NAME
table put NAME key value
table put NAME key other --if-absent
table put NAME key other --if-is value
table put NAME key again --if-is value
table get NAME key
table get NAME none
table has NAME key
table has NAME none
table scan NAME
table count NAME
table incr NAME key
table incr NAME number -7
table incr NAME number
table remove NAME key
table remove NAME key
table drop NAME
list scan NAME
list count NAME
list clear NAME
list drop NAME
once NAME --forget
once NAME --info
once NAME --settle 3 x
leader who NAME
semaphore holders NAME
semaphore resize NAME 2
semaphore drop NAME
limit get NAME ann --rate 5/d
limit give NAME ann --rate 5/d
limit ls NAME
limit drop NAME
limit take NAME ann 4 --rate 5/d --rate 500/d
limit take NAME ann --rate 5/d
limit give NAME ann 2 --rate 5/d
limit get NAME ann --rate 5/d
limit take NAME bob --rate 5/d --burst window
limit get NAME bob --rate 5/d --burst window
limit drop NAME
queue count NAME
queue ls NAME
queue dead NAME
queue drop NAME
queue push NAME one two --may-lose --delay 1h
queue count NAME
queue next NAME --may-lose
queue retry NAME
queue discard NAME --all
queue drop NAME
ids drop NAME
ids next NAME --bits 53 --count 2 --spread 1ms
ids next NAME --bits 53
ids drop NAME
list push NAME one two
list scan NAME
list count NAME
list scan NAME --skip 1
list clear NAME
list scan NAME
list count NAME
list drop NAME
log scan NAME
log tail NAME
log drop NAME
log put NAME event --at 2020-01-01T12:00:00Z --by-arrival
log scan NAME
log tail NAME
log drop NAME
array scan NAME
array change NAME --remove a
array drop NAME
array change NAME --add a --add b
array scan NAME
array change NAME --remove a
array set NAME c d
array scan NAME
array drop NAME
ls
END
}
hide() { sed 's/\b[0-9]\{15,16\}\b/ID/g; s/"\(since\|fence\|filed_ms\|full_ms\)":"*[0-9]*"*/"\1":N/g'; }
each() {
    while read -r line; do
        echo "\$ mcds $line $*"
        eval "mcds $line $*" </dev/null 2>&1
        echo "-> $?"
    done | hide
}
verbs | each
verbs | each --json
# the same line by line: what stands for itself in a batch answers alike
echo '$ mcds batch'
verbs | grep -v '^log tail\|^ls$' | mcds batch 2>&1 | hide
