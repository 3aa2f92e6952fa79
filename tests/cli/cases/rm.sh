# structures of any noun, by name
mcds counter add page >/dev/null
mcds -q set add page a
mcds -q lock page -- true
mcds -q table put hosts web1 10.0.0.1
mcds -q list push jobs a
mcds -q log put deploys v42
mcds -q array set top a
mcds -q visitors hit site ann --exact
mcds -q online beat site ann --estimated
mcds -q views hit pages home --database lmdb:./kept.mdb
mcds counter add sure 5 --exact >/dev/null
mcds -q counter add wide 5 --stripes 8
mcds -q set add bag a --bag
mcds counter add "$(printf 'odd\nname')" >/dev/null
run rm page
run rm
run rm --all
run rm --all --yes
run -N other rm --all page --yes
run rm none --yes
run rm none --yes --json
run rm page none hosts page jobs --yes
run rm page --yes
run rm site pages --yes --json
run -q rm top deploys --yes
run rm sure wide bag -y
run rm "$(printf 'odd\nname')" --yes
run rm '' --yes
mcds ls
# a lock that is held
mcds lock held -- sh -c 'mcds rm held --yes'
echo "-> $?"
run rm held --yes
# a namespace, and no other
mcds -N other counter add a >/dev/null
mcds -N other -q set add b x
mcds -q set add b x
run -N other rm --all
run -N other rm --all --yes
run -N other rm --all --yes
mcds ls | sort
# what the listing still has of an online that was dropped
mcds -N old -q online beat chat ann --width 1s --buckets 30
began=$(date +%s)
until [ "$(date +%s)" -gt $((began + 1)) ]; do sleep 0.1; done
run -N old rm --all --yes
run -N old rm --all --yes
run -N old rm chat --yes
# a name of which the store has only a hash
long=$(printf '%0200d' 7)
mcds -N long -q counter add "$long"
run -N long rm --all --yes
run -N long rm "$(mcds -N long ls | cut -f 2)" --yes
run -N long rm "$long" none --yes
run -N long counter drop "$long"
run -N long rm "$long" --yes
mcds -N long -q counter add '~x'
run -N long rm '~x' --yes
run batch <<'END'
rm b --yes
END
run rn b
run del b
run help rm
# what rm does not take
run rm 's*' --yes
run -N '' rm --all --yes
