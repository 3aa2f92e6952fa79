# not with asan: the case bytes has such names, for every verb
# names of 300 bytes, with line ends, with quotes: kept apart, and shown so that they can be typed
long=$(printf '%0300d' 7)
crlf=$(printf 'a\r\nb')
for name in "$long" "$crlf" 'mcds:c1:x' '%41' '~x' "it's" '"' ' ' '-' '--'; do
    mcds -q counter add -- "$name" 2
    mcds -q set add -- "$name" "$name"
    mcds -q table put -- "$name" "$name" "$name"
    mcds -q list push -- "$name" "$name"
    mcds -q log put --by-arrival --at 2020-01-01 -- "$name" "$name"
    mcds -q array set -- "$name" "$name"
    mcds -q visitors hit --period 0 -- "$name" "$name"
    mcds -q visitors hit --period 0 --exact -- "$name," "$name"
    mcds -q online beat --width 1d -- "$name" "$name"
    mcds -q views hit --database lmdb:./kept.mdb -- "$name" "$name"
    mcds counter get -- "$name"
    mcds set scan -- "$name"
    mcds table scan -- "$name"
    mcds list scan -- "$name"
    mcds log scan -- "$name"
    mcds array scan -- "$name"
    mcds visitors get --period 0 -- "$name"
    mcds visitors get --period 0 --exact -- "$name,"
    mcds online get --width 1d -- "$name"
    mcds views get --database lmdb:./kept.mdb -- "$name" "$name"
    mcds counter get -- "$name."
    mcds set scan -- "$name."
    mcds table scan -- "$name."
    mcds list scan -- "$name."
    mcds log scan -- "$name."
    mcds array scan -- "$name."
done 2>&1 | cut -c 1-80
mcds ls | sort
mcds --json ls | sort
