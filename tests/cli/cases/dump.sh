# dump writes what scan and get read, with the options of the structures; load makes it again
mcds -q counter add hits 41
mcds -q counter add low -- -7
mcds -q counter add wide 5 --stripes 8
mcds -q counter add sure 5 --exact
mcds -q set add tags red
mcds -q set add bag x x y --bag
mcds -q set remove bag y --bag
mcds -q set add queue b a b --list
mcds -q set add none x
mcds -q set remove none x
mcds -q table put hosts web3 10.0.0.3
mcds -q list push jobs a '' "$(printf 'tab\there')"
mcds -q list push empty a
mcds -q list clear empty
mcds -q array set top e1 '' e2
mcds -q array set nothing </dev/null
mcds -q lock nightly -- true
mcds -q visitors hit site ann
mcds -q online beat chat ann
mcds -q views hit pages home --database lmdb:./kept.mdb
mcds -q counter add "$(printf 'odd\n\377\001name')"
run dump --all
run dump --all -o file
run dump --all -o file --json
run -q dump --all -o file
run dump hits 't*' hits
run dump none nosuch
run dump nosuch 'nosuch*'
run dump nosuch -o new
run dump nightly pages
run dump 'nig*'
run dump
run dump hits --all
run dump hits --json
run dump hits -o .
run dump hits -o no/where
run dump hits -o /dev/null
run dump hits -o ''
# as /dev/stdout is before a pipe
ln -s /proc/self/fd/1 out
mcds dump hits -o out | cat
ln -s nothing nowhere
run dump hits -o nowhere
find out nowhere -printf '%f %y\n'
rm out nowhere
run -N nosuch dump --all -o new
ls
find file -printf '%m\n'
run -N second load file
mcds -N second dump --all >again
diff file again
run -N second load file
run -N second load file --resume --json
mcds -N second counter add hits
run -N second load file --replace
mcds -N second counter get hits
mcds -N second dump --all | diff again -
mcds -N second ls mcds-load
mcds dump hits queue | run -N third load -
mcds -N third set scan queue
run -N third load file
mcds -N third ls
# a name of which the store has only a hash
long=$(printf '%0200d' 7)
mcds -N long -q counter add "$long"
mcds -N long -q counter add short
mcds -N long dump --all | cut -c 1-60
run -N long dump "$long" -o long
mcds -N longer load long
mcds -N longer counter get "$long"
