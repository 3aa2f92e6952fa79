# store: lmdb
# Where this process may open few files, every sentence names the limit.
mcds counter add c
for files in 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    (ulimit -n $files; "$PATIENT" lock l -- true) 2>&1 | grep -v 'ulimit -n'
    (ulimit -n $files; "$PATIENT" doctor) 2>&1 | grep '^problem' | grep -v 'ulimit -n' | cut -f 1,3,4
    (ulimit -n $files; "$PATIENT" doctor) 2>&1 | grep 'ulimit -v'
done
echo done
