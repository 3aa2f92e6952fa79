# store: lmdb
# A verb that only reads does not make the file of a store; one that writes does.
reads() {
    cat <<END
counter get NAME
lock NAME --info
visitors get NAME
visitors estimate NAME
online get NAME
views get NAME page
set has NAME element
set scan NAME
set count NAME
table get NAME key
table has NAME key
table scan NAME
table count NAME
list scan NAME
list count NAME
log scan NAME
log tail NAME
array scan NAME
ls
doctor
backup copy
dump NAME
dump --all
END
}
reads | while read -r line; do
    # shellcheck disable=SC2086 # words
    run -s lmdb:./typo $line 2>&1 | sed 's/mcds	[0-9.]*$/mcds	VERSION/'
done
run -s 'lmdb:./typo?sync=async' ls
run -s 'lmdb:./typo?sync=async&' ls
run -s 'lmdb:./typo?' ls
MCDS_STORE=lmdb:./typo run ls
run views hit NAME page --database lmdb:./typo
run views get NAME page --database lmdb:./typo
ls
run -s 'lmdb:./asked?create=1' ls
run -s lmdb:./written counter add x
run -s lmdb:./written counter get x
echo 'counter add x' | mcds -s lmdb:./batch batch
run -s 'lmdb:./never?create=0' counter add x
ls
mcds ls
