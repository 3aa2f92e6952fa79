# everything that there is comes once, and nothing that is not
mcds -q counter add plain
mcds -q counter add wide 5 --stripes 8
mcds -q counter add sure --exact
mcds -q lock nightly -- true
mcds -q visitors hit site
mcds -q visitors hit people ann --exact
mcds -q visitors hit crowd ann --estimated
mcds -q online beat chat ann --exact
mcds -q online beat room ann
mcds -q views hit pages home --database lmdb:./kept.mdb
seq 2000 | mcds -q set add tags
mcds -q table put hosts web3 10.0.0.3
head -c 1500000 /dev/zero | tr '\0' x | mcds -q list push jobs
mcds -q log put deploys v42
head -c 3000000 /dev/zero | tr '\0' x | mcds -q array set top
mcds ls | sort
mcds ls --json | sort
mcds ls t | sort
mcds ls none
for noun in counter set table list log array; do
    mcds -q $noun drop gone 2>/dev/null
done
mcds -q counter add gone
mcds -q set add gone a
mcds -q table put gone a b
mcds -q list push gone a
mcds -q log put gone a
mcds -q array set gone a
mcds ls gone | sort
for noun in counter set table list log array; do
    mcds -q $noun drop gone
done
mcds ls gone
