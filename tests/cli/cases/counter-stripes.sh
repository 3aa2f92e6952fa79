run counter add busy --stripes 4
run counter add busy 9 --stripes=4
run counter get busy --stripes 4
run counter take busy --stripes 4
run counter get busy --stripes 4
run counter drop busy
run counter drop busy --exact
run counter drop busy --stripes 4
run counter get busy --stripes 4
run counter add busy --stripes 33
