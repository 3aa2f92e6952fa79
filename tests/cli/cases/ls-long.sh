# what a listing knows of each structure without a scan
mcds counter add plain 7 >/dev/null
mcds -q counter add wide 5 --stripes 8
mcds -q counter add sure -5 --exact
mcds -q lock free -- true
mcds -q visitors hit people ann --exact
mcds -q visitors hit people bob --exact
mcds -q online beat chat ann --width 1d
mcds -q views hit pages home --database lmdb:./kept.mdb
mcds -q set add tags a b c
mcds -q table put hosts web1 10.0.0.1
mcds -q list push jobs a
mcds -q log put deploys v42
mcds -q array set top a
mcds counter add "$(printf 'odd\tname')" >/dev/null
run ls -l
mcds ls >names
mcds ls -l | cut -f 1,2 | cmp - names && LC_ALL=C sort -c names && echo sorted
run ls --long p
run ls -l p --json
run ls -l none
mcds lock held --label host:1 -- mcds ls -l held | sed 's/\t[0-9.]*\thost/\tN\thost/'
mcds lock held --label host:1 -- mcds ls -l held --json | sed 's/ms":[0-9]*,/ms":N,/'
mcds lock files --shared --label host:1 -- mcds lock files --shared --label host:1 -- mcds ls -l files | sed 's/\t[0-9.]*\thost/\tN\thost/'
mcds lock files --shared --label host:1 -- mcds ls -l files --json | sed 's/ms":[0-9]*,/ms":N,/'
# more than are read at once
seq 700 | sed 's/.*/counter add n& &/' | mcds batch >/dev/null
mcds -q lock n -- true
mcds ls -l n | sed -n '1p;257p;513p;700p;$p'
mcds ls -l n | wc -l
# what expires, and how many are online
mcds -q counter add short 4 --ttl 1d
mcds -q counter add spread 5 --ttl 1d --stripes 4
for who in ann bob cid; do mcds -q online beat room "$who" --width 1d --exact; done
mcds ls -l 's[hp]*' | sed 's/\t8[0-9.]*\t-$/\tN\t-/'
mcds ls -l short --json | sed 's/":8[0-9]*}/":N}/'
mcds counter get short --json | sed 's/":8[0-9]*}/":N}/; s/"since":[0-9]*/"since":N/'
run ls -l room
run ls -l room --json
run help ls
