# Ids are unique, adjacent in one call, and rise; bits must agree.
ids() { mcds ids next "$@" --bits 53 --spread 1ms; }
run ids drop orders
first=$(ids orders)
ids orders --count 1500 >many
echo "$(wc -l <many) ids, $(sort -u many | wc -l) different"
[ "$(head -n 1 many)" -gt "$first" ] && [ "$(tail -n 1 many)" -eq $(($(head -n 1 many) + 1499)) ] && echo they rise
[ "$first" -lt 9007199254740992 ] && echo JSON keeps them
run ids next orders
run ids next orders --bits 54
run ids next orders --bits 50
run ids next orders --count 0
run ids next orders --count 65537
run ids next orders --spread 61s
mcds ids next orders --bits 53 --count 3 --json | sed 's/[0-9]\{15,\}/ID/g'
mcds ids next wide --spread 1ms --count 2 --json | sed 's/[0-9]\{15,\}/ID/g'
mcds ids drop wide
printf 'ids next orders --bits 53 --count 2\nids next orders --bits 53\n' | mcds batch | awk -F '\t' '{ print NF }'
run ids drop orders
[ "$(ids orders)" -gt "$(tail -n 1 many)" ] && echo above
run ls
run dump --all -o file
mcds uuid
