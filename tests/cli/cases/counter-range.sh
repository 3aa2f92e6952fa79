run counter add c 2305843009213693951
run counter add c 2305843009213693952
run counter add c 99999999999999999999
run counter add c 1.5
run counter add c +7
run counter add c ''
run counter drop c
run counter add c --ttl 1h
run counter add c --ttl 500ms
run counter add c --ttl soon
run counter add c --ttl
