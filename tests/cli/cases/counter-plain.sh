run counter add hits 5 --plain
run counter add hits -1
run counter get hits
run counter add hits 2
run counter add other -1 --plain
