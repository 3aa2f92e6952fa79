# names, elements, keys and values at their limits and beyond, for every verb
long=$(printf '%0300d' 7)
most=$(printf '%01024d' 7)
crlf=$(printf 'a\r\nb')
mcds set add "$long" "$crlf"
mcds set add "$crlf" "$long"
mcds set add "$most" "$most"
mcds set has "$most" "$most"
mcds set has "$long" "$crlf"
mcds set scan "$crlf"
mcds set scan "$long"
mcds set remove "$long" "$crlf"
mcds set drop "$crlf"
for verb in add remove has; do
    mcds set $verb "${most}x" element
    mcds set $verb name "${most}x"
    mcds set $verb '' element
    mcds set $verb name ''
    mcds set $verb "no$crlf" "no$crlf"
done
mcds set drop "no$crlf"
mcds set scan "${most}x"
mcds set scan "no$crlf"
mcds table put "$crlf" "$long" "$crlf"
mcds table put "$most" "$most" "$most$most$most"
mcds table get "$crlf" "$long"
test "$(mcds table get "$most" "$most")" = "$most$most$most" && echo same
mcds table scan "$crlf"
mcds table incr "$long" "$crlf" 7
mcds table scan "$long"
mcds table remove "$long" "$crlf"
mcds table drop "$most"
for verb in 'put' 'get' 'has' 'remove' 'incr'; do
    value=$(test $verb = put && echo 1)
    mcds table $verb "${most}x" key $value
    mcds table $verb name "${most}x" $value
    mcds table $verb '' key $value
    mcds table $verb name '' $value
    mcds -q table $verb "no$crlf" "no$crlf" $value
done
mcds table scan ''
mcds table drop ''
# as large as a value may be
head -c 200000 /dev/zero | tr '\0' x | mcds table put files quarter -
mcds table get files quarter | wc -c
echo "$(head -c 100000 /dev/zero | tr '\0' x)" | mcds set add files 2>&1
head -c 20000000 /dev/zero | mcds table put files twenty -
echo "-> $?"
mcds table scan files | wc -c
# a reader who has gone, and a full disk
seq 15000 | mcds -q --timeout 30s set add many
mcds set scan many | head -n 1 | wc -l
mcds set scan many >/dev/full
echo "-> $?"
mcds set add many one >/dev/full
echo "-> $?"
printf '1\n' | mcds set add many >/dev/full
echo "-> $?"
mcds set scan many >&-
echo "-> $?"
