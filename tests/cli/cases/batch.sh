mcds batch <<'END'
# a comment, and an empty line

counter add a
counter add a 2     # behind a command
counter add a -4
counter get a
counter take a
counter drop a
counter get a
visitors hit site alice --period 300d
visitors hit site alice --period 300d
visitors get site --period 300d
online beat site alice --width 1d
online beat site alice --width 1d
online get site --width 1d
lock job --info
lock job --break
counter add busy --stripes 4
counter get busy --stripes 4
counter get busy
END
echo "-> $?"
mcds -q batch <<'END'
counter get none
counter add some
END
echo "-> $?"
mcds batch </dev/null
echo "-> $?"
printf 'counter add unfinished' | mcds batch
echo "-> $?"
printf 'counter add crlf\r\n' | mcds batch
mcds counter get crlf
mcds batch <&-
echo "-> $?"
