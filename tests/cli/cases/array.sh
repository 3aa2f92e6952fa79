run array scan top
run array change top --remove a
run array set top c a b
run array scan top
run array change top --remove a --add d
run array change top --add 'e e' --add d --remove c --remove nothing
run array scan top
run array change top --remove d
run array scan top
run array change top
run array change top --ad x
run array set top a - b
run array set top '' -- - --json
run --json array scan top
seq 3 | mcds array set top
mcds array scan top | mcds array set copy -
run --json array scan copy
printf 'a\nb\n' | mcds --json array set copy
mcds array set empty </dev/null
run array scan empty
run array change fresh --add 1
run array scan fresh
run -q array set fresh 2
run array drop fresh
run array drop fresh
run array scan fresh
run array set
run array set ''
printf '%s\n' 'array set x 1 2' 'array scan x' 'array change x --add 3 --remove 1' 'array scan x' \
    'array set x' 'array change x' 'array drop x' 'array scan x' | mcds batch
# a value of several keys
head -c 3000000 /dev/zero | tr '\0' x | fold -w 1000 >many
echo >>many
mcds array set large <many
mcds array scan large | cmp - many && echo same
mcds array change large --add "$(printf 'a\r\n\tb')"
mcds array scan large | tail -n 1
mcds array scan large | head -n 1 | cut -c 1-3
mcds array scan large >/dev/full
echo "-> $?"
# an array that cannot be set prints nothing on standard output
head -c 67108865 /dev/zero | tr '\0' x | mcds array set long
echo "-> $?"
yes '' | head -n 4200000 | mcds array set many
echo "-> $?"
run array scan long
# what changes nothing says so
mcds -q array set same a b a
run array change same --remove c
run array change same
run --json array change same --remove c
run array change same --remove a --add a
run array scan same
