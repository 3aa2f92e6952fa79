# store: lmdb
run counter add x
find ../state -mindepth 1 -printf '%m %f\n' | grep -v lock | sed 's/^[0-9]* d/d/' | sort
MCDS_STORE= mcds counter add x
MCDS_STORE=lmdb:./other.lmdb mcds counter add x
MCDS_STORE=lmdb:./other.lmdb mcds -s lmdb:./third.lmdb counter add x
XDG_STATE_HOME=relative mcds counter add x
ls -d ../.local/state/mcds/default.lmdb
mkdir 'odd%41?dir'
XDG_STATE_HOME="$PWD/odd%41?dir" mcds counter add x
ls -d 'odd%41?dir/mcds/default.lmdb'
(unset HOME XDG_STATE_HOME && run counter add x)
XDG_STATE_HOME=/dev/null run counter add x
run -s lmdb:/nowhere/at/all counter get x
mcds doctor | head -n 3 | cut -f 1-3 | sed 's/mcds	.*/mcds	VERSION/'
echo nonsense >file
mcds -s lmdb:./file counter get x
echo "-> $?"
(HOME=/nonexistent XDG_STATE_HOME='' && export HOME XDG_STATE_HOME && run counter add x)
ls -d /nonexistent
(umask 777 && mkdir -m 700 bare && HOME="$PWD/bare" XDG_STATE_HOME='' && export HOME XDG_STATE_HOME && run counter add x)
find bare -type d -printf '%m %f\n'
