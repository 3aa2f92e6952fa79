# a dump that is not whole changes nothing
mcds -q counter add hits 41
mcds -q set add tags red
mcds dump --all >whole
reload() {
    run -N other load "$1"
}
run load
run load nosuch
run load .
reload /dev/null
: >none
reload none
head -n 6 whole >cut
reload cut
head -c 100 whole >cut
reload cut
cat whole whole >twice
reload twice
sed 's/red/rod/' whole >changed
reload changed
sed 's/	41$/	42/' whole >changed
reload changed
sed '/^end/s/	2	/	3	/' whole >changed
reload changed
sed '/^+	41/d' whole >changed
reload changed
sed 's/^structure/struct/' whole >changed
reload changed
sed 's/	counter	/	lock	/' whole >changed
reload changed
sed 's/	hits/	hits	colour=blue/' whole >changed
reload changed
sed 's/^mcds-dump	1/mcds-dump	2/' whole >changed
reload changed
sed 's/^+	red/+	red	green/' whole >changed
reload changed
(sed 1q whole; head -c 90000 /dev/zero | tr '\0' x) >wide
reload wide
echo 'counter add x 1' >batch
reload batch
reload batch --json
run -N other load changed --json
mcds ls
mcds -N other ls
# carriage returns do no harm
sed 's/$/\r/' whole >dos
reload dos
mcds -N other ls
# a store that does not exist is not made
run -s lmdb:./new.mdb load changed
ls new.mdb
run -s lmdb:./new.mdb dump hits
ls new.mdb
