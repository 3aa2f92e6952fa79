mcds batch <<'END'
counter add 'single  quoted $x "y" \z'
counter add "double  quoted \" \\ \$x \z"
counter add back\ slash
counter add a"b"'c'\d
counter add abcd
counter add $'dollar\t\x41\'\n'
counter add $'dollar\tA\'\n'
counter add ''
counter add pre#fix
counter add 'open
counter add "open
counter add $'open
counter add $'bad\q'
counter add $'nul\x00'
counter add last\
'counter' "add" abcd
visitors hit a b c d e f g h i j k l m n o p q r s t u v w x y z 1 2 3 4 5 6 7 8 9
END
echo "-> $?"
