# colours and columns on demand; a filter by noun
mcds counter add hits 120000 >/dev/null
mcds counter add page >/dev/null
mcds -q table put hosts web1 10.0.0.1
mcds -q lock free -- true
unset NO_COLOR
show() {
    run "$@" | tr '\033' '^'
}
show --color always ls -l
show --color=always table scan hosts
show counter get hits page --color always
show --color=auto ls -l
show --color never ls -l
show --color always ls -l --json
run --color sometimes ls
run ls --color
echo 'ls --color always' | mcds batch
run ls --noun counter
run ls h --noun table
run ls --noun counter -l p --json
run ls --noun ls
run ls --noun leader
run ls --noun counters
