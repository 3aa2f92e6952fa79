# store: lmdb
store=lmdb:./in.use
mcds -s $store counter add x 41
mcds -s $store table put t key value
run -s $store backup copy
mcds -s $store counter add x
echo '$ the copy'
mcds -s lmdb:./copy counter get x
mcds -s lmdb:./copy table get t key
find copy -printf '%m\n'
run -s $store backup copy
ln -s nothing link
run -s $store backup link
run -s $store backup no/where
run -s memory: backup other
run -s $store backup
mcds -s lmdb:./copy counter get x
ls
XDG_STATE_HOME=$PWD/none run backup other
