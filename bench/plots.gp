# Draw what mcds-bench --curves has written: gnuplot -e "folder='FOLDER'" bench/plots.gp
set terminal svg size 800,500 dynamic font "sans,14" background "white"
set datafile separator "\t"
set key autotitle columnhead left top
set grid
set style data linespoints

set output folder."/depth.svg"
set title "Adds to a counter on memcached, by how many are in flight (unix socket; libmemcached waits)"
set xlabel "in flight"
set ylabel "adds a second"
set logscale xy
stats folder."/depth.tsv" skip 1 nooutput
plot for [column = 2:int(STATS_columns)] folder."/depth.tsv" using 1:column

set output folder."/threads.svg"
set title "Adds to counters in memory, by threads"
set xlabel "threads"
unset logscale y
stats folder."/threads.tsv" skip 1 nooutput
plot for [column = 2:int(STATS_columns)] folder."/threads.tsv" using 1:column

set output folder."/latency.svg"
set title "How long a waiting add takes (memcached, TCP)"
set xlabel "percent of calls that take no longer"
set ylabel "microseconds"
unset logscale x
set logscale y
set xtics ("50" 0.301, "90" 1, "99" 2, "99.9" 3, "99.99" 4)
stats folder."/latency.tsv" skip 1 nooutput
plot for [column = 2:int(STATS_columns)] folder."/latency.tsv" using (-log10(1 - $1 / 100)):column

set output folder."/sizes.svg"
set title "One waiting call, by how many elements there are (in memory)"
set xlabel "elements"
set logscale x
set xtics autofreq
stats folder."/sizes.tsv" skip 1 nooutput
plot for [column = 2:int(STATS_columns)] folder."/sizes.tsv" using 1:column
