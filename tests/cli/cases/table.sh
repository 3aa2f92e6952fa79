run table get hosts web3
run table scan hosts
run table put hosts web3 10.0.0.3
run table get hosts web3
run -q table get hosts web4
run table has hosts web3
run table has hosts web4
run table put hosts web3 10.0.0.4 --if-absent
run table put hosts web4 10.0.0.4 --if-absent
run table put hosts web3 10.0.0.5 --if-is 10.0.0.4
run table put hosts web3 10.0.0.5 --if-is 10.0.0.3
run table put hosts web5 10.0.0.5 --if-is 10.0.0.3
run table put hosts empty ''
run table get hosts empty
run table put hosts short life --ttl 1ms
sleep 0.1
run table get hosts short
echo '$ mcds table scan hosts'
mcds table scan hosts | sort
run table remove hosts web4
run table remove hosts web4
run table incr loads web3
run table incr loads web3 41
run table incr loads web3 -50
run table incr loads web3 9223372036854775807
run table incr loads web3 9223372036854775807
run table incr loads web3 9223372036854775808
run table incr loads least -9223372036854775808
run table incr loads least -1
run table incr loads least -9223372036854775809
run table remove loads least
run table incr hosts web3
run table put loads web3
run table put loads web3 1 2
run table put loads web3 1 --if-absent --if-is 2
run table put loads web3 1 --ttl 0
run table drop hosts
run table drop hosts
run table get hosts web3
# a scan in pieces, and as a program would do it
seq 9 | sed 's/.*/&\t&&/' | mcds table put squares
echo '$ mcds table scan squares --limit 4, 4 and 4'
mcds --json table scan squares --limit 4 >first
cursor=$(sed -n 's/.*"cursor":"*\([0-9]*\).*/\1/p' first)
mcds --json table scan squares --limit 4 --cursor "$cursor" >second
cursor=$(sed -n 's/.*"cursor":"*\([0-9]*\).*/\1/p' second)
mcds --json table scan squares --limit 4 --cursor "$cursor" >third
grep -c value first second third
sort first second third | grep value
mcds table scan squares --limit 4 2>&1 >/dev/null | sed 's/[0-9]*$/N/'
mcds -q table scan squares --limit 4 >/dev/null
