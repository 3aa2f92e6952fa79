# the numbers of the examples are those of their last run
help() {
    run help "$@" | sed 's/[0-9]\{9,\}/N/g; s/\t[0-9.]*\t/\tN\t/; s/_ms":[0-9]*/_ms":N/'
}
run help
run --help
run help counter
run counter --help
run help counter add
run counter add x --help
help lock
run help exit
help batch
run --version
run counter add --version
run help limit run
help ids next
