# store: lmdb
mcds -s memory: batch <<'END'
counter add a 5
counter take a
counter get a
END
echo "-> $?"
