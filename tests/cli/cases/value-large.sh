# store: lmdb
# A line is a value of its own: it may be as large as a value, with nothing taken off for others.
mcds -q list push small a
head -c 67108864 /dev/zero | tr '\0' b | run list push large
mcds list count large
head -c 67108865 /dev/zero | tr '\0' b | run list push large
mcds list count large
