run
run nonsense
run conter add x
run counter
run counter ad x
run counter explode x
run counter add
run counter add x 1 2
run counter add x one
run counter add x --strips 3
run counter get x --ttl 3s
run counter get x -z
run counter get x --json=yes
run --json counter add x one
run counter ad x --json
run --json
run --timeout
run --timeout 0 counter get x
run --timeout 2h counter get x
run -s
run -s nonsense counter get x
run -s nonsense: counter get x
run lock x
run lock x true
run lock x --
run lock x --info -- true
run lock x --info --break
run lock x --info --drop
run lock x --shared --break
run lock x --info -t 5s
run lock x -n -w 1s -- true
run lock x -t 1ms -- true
run lock x -E 256 -- true
run visitors get
run online beat x
run ls a b
run completion tcsh
run help nonsense
run help counter explode
run -s memory: -N 'bad ns' counter get x
MCDS_STORE=nonsense run counter get x
run version
run get x
run fetch x
run -v
run set add x -y
run set has -y
run counter add x -z
run set get x
run set add x --bag --list
run array change x
# the words of other programs, and nothing that erases as a guess
while read -r words; do run $words; done <<'END'
counter incr x
counter del x
set members x
set rm x a
set len x
table keys x
table del x k
list pop x
list range x
list len x
list drp x
set remov x a
counter tak x
log watch x
log top x
array add x a
cache set x k v
cache put x k
cache delete x k
online get x
watch
top
pop
keys
incr x
del x
rm x
queue
counter get x -n other
ids next x -n 3
table scan x -n3
log tail x -n 3
-n other counter get x
log tail x -n 5
log tail x -n5
END
run -s memcached://127.0.0.1:22311/ counter get x
run -s memcached://localhost/0 counter get x
run semaphore run builds --permits 2
run semaphore run builds --permits 2 -w 1s -n -- true
run limit take api ann --rate 10/s --burst 0
run leader run jobs
run leader run jobs --rest soon -- true
run leader resign jobs
run leader watch jobs --rest 1s
# what other programs have
for word in rename multi ttl blpop repl rwlock; do run "$word" a; done
# a NAME or KEY that begins with a dash, where a COMMAND may follow
run cache get c -- -k
run cache get -- -c -k
run cache hold c -- -k
run once --info -- -k
run once --info -- -k --
run lock -- -k
run lock --info -- -k
run semaphore run -- -k
run leader run -- -k
run queue work -- -k
run lock -- true
