# what to do, by the cause
head -c 20000 /dev/zero >bad.mdb
chmod 600 bad.mdb
for uri in nonsense: lmdb:bad.mdb lmdb:no/such.mdb; do
    mcds -s $uri doctor | grep '^problem' | sed "s,$PWD/,,"
    mcds -s $uri doctor >/dev/null
    echo "-> $?"
done
