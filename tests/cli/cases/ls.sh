# store: lmdb
run ls
mcds counter add page:one >/dev/null
mcds counter add page:two --stripes 2 >/dev/null
mcds counter add "$(printf 'line\nend\033[31m')" >/dev/null
mcds visitors hit site alice >/dev/null
mcds online beat site alice >/dev/null
mcds lock job -- true
mcds -N other counter add elsewhere >/dev/null
echo '$ mcds ls'
mcds ls | sort
echo '$ mcds ls page:'
mcds ls page: | sort
echo '$ mcds ls --json page:'
mcds ls --json page: | sort
echo '$ mcds ls patterns'
for pattern in '*o' 'page:*' '?it?' '[js]*' 'page:\*' '*'; do echo "$pattern:"; mcds ls "$pattern" | sort; done
