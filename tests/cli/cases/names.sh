long=$(printf '%0300d' 7)
most=$(printf '%01024d' 7)
crlf=$(printf 'a\r\nb')
mcds counter add "$long"
mcds counter get "$long"
mcds counter add "$most"
mcds counter add "${most}x"
mcds counter add "$crlf"
mcds counter get "$crlf"
mcds counter get "no$crlf"
mcds counter add ''
mcds counter add 'with space'
mcds counter add "quote ' and \\ backslash"
mcds counter add "$(printf "tab\\there's one")"
mcds counter add '$HOME'
mcds visitors hit "$crlf" "$long" --period 300d
mcds visitors hit "$crlf" "$long" --period 300d
run visitors hit "$crlf" "$most" --period 300d
mcds counter add -- -dash
mcds -N other counter get 'with space'
echo "-> $?"
