# store: lmdb
# A line holds the largest value, also with each byte quoted.
head -c 5000000 /dev/zero | tr '\0' x | mcds table put t plain -
head -c 5000000 /dev/zero | mcds table put t quoted -
mcds table scan t | mcds table put copy
mcds table get copy plain --raw | cksum
mcds table get copy quoted --raw | cksum
