command -v bash >/dev/null || exit 0
cat >try.bash <<'END'
source <(mcds completion bash)
try() {
    COMP_WORDS=(mcds "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _mcds
    echo "$*: ${COMPREPLY[*]}"
}
try co
try counter ''
try counter add --s
try -s memory: vis
try lock job --in
try counter get x --j
try rm --y
try ls --l
END
bash try.bash
mcds completion zsh | head -n 2
mcds completion fish | grep -c 'complete -c mcds'
