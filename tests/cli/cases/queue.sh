# Jobs that workers take in turn, each until one is done with it.
hide() { sed 's/^[0-9a-f]\{16\}\.[0-9a-f.]*/RECEIPT/; s/"receipt":"[^"]*"/"receipt":"RECEIPT"/; s/"ms":[1-9][0-9]*/"ms":N/g
    s/	[1-9][0-9]*\.[0-9]*	/	N	/; s/[0-9a-f]\{42\}/ID/'; }
run queue count q
run queue ls q
run queue next q --may-lose
run queue push q --may-lose one two
run --json queue push q --may-lose three
printf 'four\nfive\n' | mcds queue push q --may-lose
run queue push q --may-lose later --delay 1h
printf 'a\nb\n' | mcds queue push q --may-lose --file -
mcds queue ls q | hide
mcds queue ls q --limit 1 --json
mcds queue next q --may-lose | hide
mcds queue next q --may-lose --json | hide
mcds queue ls q --json | hide
run queue count q
run --json queue count q
run queue work q --may-lose --wait 0 -- sh -c 'echo "$MCDS_QUEUE_NAME: $MCDS_JOB, try $MCDS_JOB_TRIES"; cat >&2'
run queue count q
# by a receipt
receipt=$(mcds queue push r --may-lose job -q; mcds queue next r --may-lose | cut -f 1)
mcds queue longer r "$receipt" --visible 1h
mcds queue again r "$receipt"
mcds queue done r "$receipt"
mcds queue done r "$receipt" --json
echo "-> $?"
run queue count r
run queue done r 1
run queue again r ""
run queue again r
# that fail
run queue push f --may-lose bad worse
run queue work f --may-lose --tries 2 --delay 0 --until-empty -- sh -c 'exit 3'
mcds queue dead f | hide | sort
mcds queue dead f --json | hide | sort
run queue count f
run queue retry f nothing
run queue retry f
run queue retry f --json
run -q queue work f --may-lose --tries 1 --delay 0 --until-empty -- false
run queue discard f
run queue discard f --all
run queue discard f --all --json
run queue work f --may-lose --max-jobs 1 --wait 0 -- echo not run
run queue push f --may-lose x
run queue work f --may-lose -- ./nothing
run queue count f
# in bulk
seq 1000 | mcds queue push many --may-lose
run queue count many
printf 'queue push b one\nqueue count b\nqueue work b -- true\nqueue next b\nqueue drop b\nqueue drop b\n' |
    sed 's/push b/push b --may-lose/' | mcds batch
# with stripes
run queue push s one --may-lose --stripes 4
run queue push s two --may-lose --stripes=4
run --json queue push s three --may-lose --stripes 3
run queue push q four --may-lose --stripes 2
run queue count s
run queue drop s
run queue push s one --may-lose --stripes 2
run queue work s --may-lose --until-empty -- cat
printf 'queue push t one --may-lose --stripes 3\nqueue push t two --may-lose\nqueue push t x --may-lose --stripes 4\n' |
    mcds batch
# what is refused
run queue push u x --stripes 33
run queue push u x --stripes 0
run queue work s --stripes 2 -- true
run queue
run queue push q x --file y
run queue push q --file ./none
run queue push q --may-lose --file ./none
run queue work q
run queue work q --may-lose --
run queue work q --tries 10001 -- true
run queue work q --visible 99ms -- true
run queue pop q
run -s memory: queue work q -- echo nothing comes
# queue is a noun
run ls
run rm many --yes
run dump q -o file
grep '^[+]' file | cut -f 1-3,5
run queue drop q
run queue drop q
run jobs
