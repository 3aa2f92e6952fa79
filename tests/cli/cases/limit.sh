# Rates as people type them; the times to wait depend on the clock and are not printed here.
run limit take api ann --rate 10/h
run limit take api ann 9 --rate 10/h
run limit take api ann 11 --rate 10/h
mcds limit take api ann --rate 10/h | sed 's/[0-9.]*$/TIME/'
run limit give api ann 3 --rate 10/h
# a wait is printed in seconds, whole and with milliseconds; with -q it is the only number
mcds limit take slow ann --rate 1/d --patience 2d | sed 's/[0-9]\{5\}\.[0-9]\{3\} s/TIME s/'
mcds limit take slow ann --rate 1/d --patience 2d | sed 's/[0-9]\{5\}\.[0-9]\{3\} s/TIME s/'
mcds limit take slow bob --rate 1/d --patience 2d -q
mcds limit take slow bob --rate 1/d --patience 2d -q | sed 's/^[0-9]\{5\}\.[0-9]\{3\}$/TIME/'
mcds limit take slow bob --rate 1/d --patience 1d -q | sed 's/^[0-9]\{5\}\.[0-9]\{3\}$/TIME/'
run limit take api ann 3 --rate 10/h --burst 10 --rate 1000/d
mcds limit ls api | cut -f 1
for rate in 10 10/ x / 10/.5s 10/x 0/s 1/0s -1/s 1.5/s; do
    run limit take bad ann --rate $rate
done
run limit take bad ann --burst 3
run limit take bad ann
run limit take win ann 5 --rate 5/h --burst window
run limit take win ann --rate 5/h --burst window --patience 5s
# of two bursts of a rate the last counts
run limit take twice ann 6 --rate 9/h --burst 5 --burst 6
run limit take twice bob 6 --rate 9/h --burst 6 --burst 5
run limit take twice cat 6 --rate 9/h --burst window --burst 6
run limit take twice ann 9 --rate 9/h --burst 3 --burst window
run limit take twice ann --rate 9/h --burst window --rate 1/s
# a run waits for a window while its patience lasts
run limit run turn --rate 1/s --burst window -- echo first
run limit run turn --rate 1/s --burst window -- echo second
run limit run day --rate 1/d --burst window -- echo first
mcds limit run day --rate 1/d --burst window --patience 1h -- echo second 2>&1 | sed 's/retry in .*/retry in TIME/'
run limit give win ann --rate 5/h --burst window
run limit run jobs --rate 10/s -- echo ran
run limit run rare --rate 1/h -- ./none # keeps the token
run limit run rare --rate 1/h -- echo ran
echo 'limit run jobs --rate 10/s -- echo ran' | run batch
run limit drop api
run limit drop api
# a fifth rate
run limit take five ann --rate 1/s --rate 2/m --rate 3/h --rate 4/d --rate 5/d
# a plus says nothing
run limit take plus b +3 --rate +10/+1h
run limit take plus c 3 --rate 10/h --burst +5 --timeout +5s
run limit take plus b ++3 --rate 10/h
run limit take plus b -- +-3 --rate 10/h
run log scan plus --from +10m
