run online beat site alice --width 1d
run online beat site alice --width 1d
run online beat site bob --width 1d
run online get site --width 1d
run online beat site
run online drop site --width 1d
run online get site --width 1d
run online get site --buckets 33
run online get site --width 10ms
