run counter get orders --exact
run counter add orders --exact
run counter add orders 9 --exact
run counter add orders -3 --exact
run counter get orders --exact
run counter get orders --exact --json
run counter get orders
run counter take orders --exact
run counter drop orders
run counter add orders 1 --exact --stripes 4
run counter add orders 1 --exact --ttl 1h
run counter add orders 1 --copies 8
run ls
run counter drop orders --exact
run counter get orders --exact
run counter add orders
run counter add orders --exact
run counter drop orders
mcds -q counter add taken 2 --exact
run counter take taken
