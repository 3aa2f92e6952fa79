# Draw what mcds-bench --curves has written: gnuplot -e "folder='FOLDER'" bench/plots.gp
set terminal svg size 800,500 dynamic font "sans,14" background "white"
set datafile separator "\t"
set datafile missing "?"
set key autotitle columnhead left top
set grid
set style data linespoints

file(name) = folder."/".name.".tsv"
is_there(name) = int(system("test -s '".file(name)."' && echo 1 || echo 0"))

if (is_there("depth")) {
    set output folder."/depth.svg"
    set title "Adds to a counter on memcached, by how many are in flight (unix socket; libmemcached waits)"
    set xlabel "in flight"
    set ylabel "adds a second"
    set logscale x 2
    set logscale y
    stats file("depth") skip 1 nooutput
    plot for [column = 2:int(STATS_columns)] file("depth") using 1:column
}

if (is_there("threads")) {
    set output folder."/threads.svg"
    set title "Adds to counters in memory, by threads"
    set xlabel "threads"
    set ylabel "adds a second"
    set logscale x 2
    unset logscale y
    stats file("threads") skip 1 nooutput
    plot for [column = 2:int(STATS_columns)] file("threads") using 1:column
}

if (is_there("lock")) {
    set output folder."/lock.svg"
    set title "One lock, by the threads that want it (memcached, Redis; unix socket)"
    set xlabel "threads"
    set ylabel "acquired and released, a second, by all of them"
    set logscale x 2
    unset logscale y
    set yrange [0:*]
    set key right top
    stats file("lock") skip 1 nooutput
    plot for [column = 2:int(STATS_columns)] file("lock") using 1:column
    set yrange [*:*]
    set key left top
}

if (is_there("processes")) {
    set output folder."/processes.svg"
    set title "Waiting adds to one counter, by processes"
    set xlabel "processes"
    set ylabel "adds a second, by all of them"
    set logscale x 2
    set logscale y
    set key outside bottom center horizontal
    stats file("processes") skip 1 nooutput
    plot for [column = 2:int(STATS_columns)] file("processes") using 1:column
    set key inside left top vertical
}

if (is_there("latency")) {
    set output folder."/latency.svg"
    set title "How long a waiting add takes (memcached, TCP)"
    set xlabel "percent of calls that take no longer"
    set ylabel "microseconds"
    unset logscale x
    set logscale y
    set xtics ("50" 0.301, "90" 1, "99" 2, "99.9" 3, "99.99" 4)
    stats file("latency") skip 1 nooutput
    plot for [column = 2:int(STATS_columns)] file("latency") using (-log10(1 - $1 / 100)):column
}

if (is_there("sizes")) {
    set output folder."/sizes.svg"
    set title "One waiting call, by how many elements there are (in memory)"
    set xlabel "elements"
    set ylabel "microseconds"
    set logscale xy 10
    set xtics autofreq
    stats file("sizes") skip 1 nooutput
    plot for [column = 2:int(STATS_columns)] file("sizes") using 1:column
}
