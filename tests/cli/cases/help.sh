run help
run --help
run help counter
run counter --help
run help counter add
run counter add x --help
run help lock
run lock --help
run help exit
run help batch
run --version
run counter add --version
