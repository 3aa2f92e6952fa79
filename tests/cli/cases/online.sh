run online beat site alice --width 1d
run online beat site alice --width 1d
run online beat site bob --width 1d
run online count site --width 1d
run online beat site
run online drop site --width 1d
run online count site --width 1d
run online count site --buckets 33
run online count site --width 10ms
