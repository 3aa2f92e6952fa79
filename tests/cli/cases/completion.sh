command -v bash >/dev/null || exit 0
cat >try.bash <<'END'
source <(mcds completion bash)
COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
# As readline divides the line: at blanks, and = and : are words of their own.
try() {
    COMP_LINE="mcds $1"
    read -ra COMP_WORDS <<<"$(sed 's/[:=]/ & /g' <<<"$COMP_LINE")"
    [[ $1 != *' ' && $1 ]] || COMP_WORDS+=('')
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    COMPREPLY=()
    _mcds
    echo "$1|" $(printf '%s\n' "${COMPREPLY[@]}" | sort)
}
a_command() { :; }
# That of bash-completion: it completes the words from this one on as a line of their own.
if [[ $1 ]]; then
    eval "$1() { COMPREPLY=(\"[\${COMP_WORDS[*]:\$1}]\"); }"
fi
while IFS= read -r line; do
    try "${line%|}"
done
END
mcds counter add clicks >/dev/null
mcds counter add calls >/dev/null
mcds counter add 'c d$(touch made)' >/dev/null
mcds -q set add colours red
mcds -q set add -- -lead red
mcds -q lock chief -- true
mcds -q lock -- -L -- true
mcds -q cache get -- -k / -- true
mcds -N other counter add there >/dev/null
mkdir -p folder/sub && touch folder/file 'folder/a b'
printf 'namespace = mcds\n[web]\ntimeout = 2s\n [work]\nstore = memory:\n' >config
export MCDS_CONFIG=./config
bash try.bash <<'END'
co|
counter |
counter add --s|
-s memory: vis|
-s lmdb:x counter ta|
lock job --in|
counter get x --j|
rm --y|
ls --l|
--color |
--color=a|
--color n|
ls --color=n|
--profile |
--profile=we|
completion |
help co|
help counter |
help e|
ls --noun l|
top --noun=l|
counter get c|
counter get clicks c|
counter add c|
counter add clicks |
set scan |
set scan -le|
set scan -- -l|
lock chief -- cat folder/f|
lock chief -- cat folder/a|
lock chief -- a_com|
lock -- -L -- cat folder/f|
lock -- -|
lock -- -L -|
lock acquire -- -|
lock release -- -L -|
lock acquire -- -L -- fold|
cache get -- -|
cache get -- -k fold|
cache get -- -k / -- a_c|
leader chief -- a_c|
leader run chief -- a_c|
limit run logins -- a_c|
limit take logins -- a_c|
leader who c|
rm c|
watch cl|
lock c|
dump cli|
lock acquire chief c|
ls cl|
-N other counter get |
--namespace=other counter get |
-s lmdb:none?create=1 counter get |
-s memcached://127.0.0.1:1 counter get |
counter get none|
load folder/|
load folder/a|
dump --output folder/f|
dump -o folder/s|
lock acquire job --token folder/f|
-s |
-s l|
-s lmdb:folder/f|
views hit pages --database lmdb:folder/s|
counter add x --timeout |
END
for function in _command_offset _comp_command_offset; do
    bash try.bash "$function" <<'END'
lock chief --lease=3s -- cat folder:f|
lock -- -L -- ca|
lock acquire -- -|
END
done
ls
mcds completion zsh | head -n 2
mcds completion fish | grep -c 'complete -c mcds'
mcds completion fish | grep -e "-l color" -e "-l profile" -e '-l noun -' -e '-l token ' -e " get' -a" | grep -e 'get. -a .(' -e ' -l ' | cut -c 1-110 | sort -u
mcds completion fish | grep -o 'ls [$]noun'
mcds completion fish | grep '_is counter; or'
