# A script holds a lock from one command to the next.
token=$(mcds lock acquire job -t 10m --label script)
echo "${token%%:*}"
echo "$token" | mcds lock renew job | tr 0-9 N | tr -s N
echo "$token" | mcds lock renew job --json | sed 's/:"*[0-9][0-9]*"*/:N/g'
mcds lock job --info | cut -f 1
run lock acquire job -n -q
echo "$token" | mcds lock release job
echo "$token" | mcds lock release job; echo "-> $?"
mcds lock acquire job -t 10m --json | sed 's/:"[0-9]*"/:N/; s/:[0-9][0-9]*/:N/; s/mcds-lease:[0-9a-f]*/TOKEN/'
run lock job --break
# by file and descriptor
mcds lock acquire job -t 10m --token token | tr 0-9 N | tr -s N
run lock acquire job --token token
run lock release other --token token
run -N other lock release job --token token
run lock release job --token token
run lock release job --token token
# - is the standard stream
mcds lock acquire job -t 10m --token - >token
mcds lock release job --token - <token
mcds lock acquire job -t 10m --token-fd 7 7>token >/dev/null
mcds lock release job --token-fd 7 7<token
run lock acquire job --token-fd 7
# without its token, the lock is released before the message
run lock acquire job -n --token-fd 7 7>/dev/full
run lock job -n -- echo free
run lock acquire job --token a --token-fd 7
run lock acquire job -n -w 1s
echo nonsense | mcds lock renew job; echo "-> $?"
run lock renew job
: >token
run lock release job --token token
run lock release job --token-fd 7 7<token
echo nonsense >token
run lock release job --token token
# a second release
mcds lock acquire job -t 10m --token twice | tr 0-9 N | tr -s N
cp twice copy
run lock release job --token twice
run lock release job --token copy
run lock acquire
run lock renew
# words that are nearly verbs; a lock may have such a name
run lock aquire job
run lock relese job --token token
run lock relese --token token job
run lock acquir job -t 5m
run lock aquire -- echo held
run lock relese job -- echo held
run lock unlock job
run lock drop job
run lock status job
# locks of these names
run lock acquire -- echo held
run lock acquire -n -- echo held
run lock acquire job -n -- echo held
run lock job more -- echo held
run lock -- acquire -- echo held
# a NAME with a dash
mcds lock acquire -n --token dashed -- -L | tr 0-9 N | tr -s N
run lock -n -q -- -L -- echo held
mcds lock renew --token dashed -- -L | tr 0-9 N | tr -s N
run lock release --token dashed -- -L
run lock release --info
run lock --drop renew
