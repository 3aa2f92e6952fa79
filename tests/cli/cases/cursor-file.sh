# FILE is what the path leads to, and it is looked at before any event is printed.
mcds -q log put q one
mkdir dir
tail_new() { echo "\$ mcds log tail $*"; mcds log tail "$@" | cut -f 2; }
tail_new q --cursor dir/real
ln -s dir/real link
mcds -q log put q two
tail_new q --cursor link
test -L link && echo a link
tail_new q --cursor dir/real
ls dir

# a link that leads nowhere yet
ln -s dir/later dangling
tail_new q --cursor dangling
test -L dangling && test -f dir/later && echo a link
tail_new q --cursor dangling

# the mode is kept
chmod 600 dir/real
mcds -q log put q three
tail_new q --cursor link
stat -c %a dir/real
# the owner can use a new one whatever the umask is
(umask 0777 && tail_new q --cursor dir/masked)
stat -c %a dir/masked
rm dir/masked

# what is no file, or cannot be written
mkfifo fifo
for file in fifo dir /dev/null no/such/folder dir/real/below ''; do
    run log tail q --cursor "$file" --json
done
ls

# what another has put where a new file is written is not written to
echo precious >precious
ln -s ../precious dir/real.new
mcds -q log put q four
tail_new q --cursor link
cat precious

# the cursor of another log is refused and kept
mcds -q log put other one two
cp dir/real before
run log tail other --cursor link
cmp dir/real before && echo kept
mcds -q log put q five
tail_new q --cursor link
