# store: lmdb
# the store, namespace and timeout of a file, by profile; the strongest is an option
unset MCDS_STORE
where() { sed "s,$PWD,PWD,g; s,$FOLDER,FOLDER,g" | awk -F '\t' '$2 != "mcds" { print $2 "\t" $3 } $2 == "timeout" { exit }'; }
doctor() { echo "\$ mcds${*:+ $*} doctor"; "$PATIENT" "$@" doctor | where; }
FOLDER=$HOME
doctor
mkdir -p "$HOME/.config/mcds"
cat >"$HOME/.config/mcds/config" <<END
# for every profile
timeout = 2s
store = lmdb:$PWD/top.mdb

[web]
store=lmdb:$PWD/web.mdb
namespace =  shop
[other]
timeout=300ms
END
doctor
doctor --profile web
doctor --profile other -N mine -s "lmdb:$PWD/third.mdb?ns=uri"
run counter add x 1
run --profile web counter add x 10
MCDS_PROFILE=web run counter get x
MCDS_PROFILE=web run -N mcds counter get x
MCDS_PROFILE=web MCDS_STORE=lmdb:$PWD/top.mdb run -N mcds counter get x
MCDS_STORE=lmdb:$PWD/top.mdb run --profile web counter get x
MCDS_STORE=lmdb:$PWD/top.mdb run -N mcds --profile other counter get x
MCDS_PROFILE=web MCDS_STORE=lmdb:$PWD/top.mdb doctor --timeout 3s
run --profile nobody counter get x
MCDS_PROFILE=nobody run counter get x
MCDS_PROFILE=nobody run help exit >/dev/null
echo 'counter get x --profile web' | run batch
mkdir -p other/mcds
printf 'namespace = xdg' >other/mcds/config
XDG_CONFIG_HOME=$PWD/other doctor
XDG_CONFIG_HOME=other doctor
MCDS_CONFIG=/dev/null doctor
MCDS_CONFIG=$PWD/none run doctor
MCDS_CONFIG=/dev/null run --profile web doctor
export MCDS_CONFIG="$PWD/file"
try() { printf "$1" >file; shift; run "$@" counter get x; }
try '\357\273\277store = lmdb:/none/x.mdb\r\n[a]\r\n'
try ''
for text in 'stor = x' 'store' 'store =' '= x' 'store = "lmdb:/x"' 'store = lmdb:x.mdb' 'store = lmdb:~/x' 'timeout = soon' 'timeout = 2h' \
    'namespace = a\001b' '\nnamespace = abcdefghijklmnopqrstuvwxyz0123456'     '[a' '[]' '[a b]' '[a]\n\n[a]' 'timeout = 1s\n#\n timeout = 2s' '# \n[a]\ntimeout = 1s\n[b]\ntimeout = no' 'ti\0me = 1s' '\n\0' '[a]\n store' 'timeout = 1s # short'; do
    try "$text"
done
try '[a]\n[b]\n' --profile c
yes '#' | head -n 40000 >file
run counter get x
truncate -s 1G file
run counter get x
rm file
mkdir file
run counter get x
rmdir file
mkfifo file
run counter get x
rm file
printf 'store = memcached://127.0.0.1:1?auth_file=/none\n' >file
chmod 664 file
run counter get x
printf 'timeout = 1s\n' >file
run counter get x
chmod 646 file
run counter get x
chmod 644 file
i=0
while [ $i -le 64 ]; do
    echo "[p$i]"
    i=$((i + 1))
done >file
run counter get x
sed -i '$d' file
run --profile none counter get x
{ printf 'store = lmdb:'; head -c 4096 /dev/zero | tr '\0' x; echo; } >file
run counter get x
printf 'timeout = 1s\n' >file
HOME=/ MCDS_CONFIG= doctor
(unset HOME; export MCDS_CONFIG=; doctor -s memory:; run --profile web counter get x)

# An option of the command is stronger than the URI: else 'rm --all' would erase another namespace.
export MCDS_CONFIG=/dev/null MCDS_STORE="lmdb:$PWD/both.mdb?ns=uri&timeout=9000"
run -N mine counter add x 1
run counter add x 5
doctor
doctor -N mine --timeout 2s
run -N mine rm --all --yes
run counter get x
