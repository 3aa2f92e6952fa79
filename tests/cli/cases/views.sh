run views get site page:home --database lmdb:./kept.mdb
run views hit site page:home --database lmdb:./kept.mdb
run views hit site page:home 41 --database lmdb:./kept.mdb
run views get site page:home --database lmdb:./kept.mdb
run views flush site --database lmdb:./kept.mdb
run views get site page:home --json --database lmdb:./kept.mdb
run views hit site page:home 0
run views hit site page:home 4294967296
run views hit site
run views get site ''
run views hit site "$(printf 'a\r\nb')" --json --database lmdb:./kept.mdb
run views flush site --flush-every 10ms
# what is kept outlives the store
mcds views hit short page 7 --flush-every 1s --database lmdb:./kept.mdb
mcds views hit short other 2 --flush-every 1s --database lmdb:./kept.mdb
sleep 6.5
mcds views flush short --flush-every 1s --database lmdb:./kept.mdb
run views top short --database lmdb:./kept.mdb
run views top short --database lmdb:./kept.mdb --limit 1 --json
run views top none --database lmdb:./kept.mdb
run views top none --database lmdb:./none.mdb
mcds -s lmdb:./kept.mdb table put views:wrong page nonsense
run views top wrong --database lmdb:./kept.mdb
mcds -s lmdb:./kept.mdb table scan views:short | sed 's/ [0-9]*:/ SLOT:/g' | sort
mcds views flush short --flush-every 1s --database lmdb:./kept.mdb
mcds -s 'lmdb:./empty.mdb?create=1' views get short page --flush-every 1s --database lmdb:./kept.mdb
mcds views get short page --flush-every 1s --database lmdb:./kept.mdb
printf '%s\n' 'views hit short page --flush-every 1s --database lmdb:./kept.mdb' \
    'views get short page --flush-every 1s --database lmdb:./kept.mdb' \
    'views get short page --flush-every 1s --database lmdb:./other.mdb' | mcds -s lmdb:./empty.mdb batch
mcds -s memory: views get site page
echo "-> $?"
echo 'views flush site' | mcds -s memory: batch
run -s memory: views hit site page # a program may save them
mcds -s lmdb:./empty.mdb views hit alone page
mcds -s lmdb:./empty.mdb views get alone page
# a database that does not last is none
for uri in memory: memcached://127.0.0.1:1 nonsense; do
    for words in 'hit site page' 'get site page' 'top site' 'flush site'; do
        run views $words --database $uri
    done
done
run -s memcached://127.0.0.1:1 views hit site page
run --json -s memcached://127.0.0.1:1 views hit site page
echo 'views hit site page' | mcds -s memcached://127.0.0.1:1 batch
echo 'views hit site page --database memory:' | mcds batch
# a host that only counts does not make the file
run views hit site page --database lmdb:./elsewhere.mdb
test -e elsewhere.mdb || echo no file
# a drop leaves the database, whose table is dropped first
run views hit gone page 5 --database lmdb:./gone.mdb
run views drop gone --database lmdb:./gone.mdb
run views get gone page --database lmdb:./gone.mdb
run views drop never --database lmdb:./gone.mdb
run views drop gone --flush-every 10ms
# the width is kept: get, flush and rm need no --flush-every, and a name that is not there is no views
run views hit wide page 3 --flush-every 90s --database lmdb:./wide.mdb
run views get wide page --database lmdb:./wide.mdb
run views flush wide --database lmdb:./wide.mdb
run views hit wide page --database lmdb:./wide.mdb
run views flush absent --database lmdb:./wide.mdb
run rm --yes wide
run views flush wide --database lmdb:./wide.mdb
