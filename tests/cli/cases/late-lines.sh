# A line whose time the log does not accept is skipped; those after it are put.
now=$(date -u +%FT%TZ)
old=$(date -u -d '-210 minutes' +%FT%TZ)
ahead=$(date -u -d '+210 minutes' +%FT%TZ)
printf "$now\ta\n$old\told\n$old\tolder\n$now\tb\n$ahead\tnot yet\nno time\n$old\told\n$now\tc\n" >lines
run log put mixed --timed <lines
mcds log scan mixed | cut -f 2
mcds --json log put mixed --timed <lines

# One time for all lines: none of them can be put, and that is said once.
printf 'a\nb\n' | run log put same --at 210m
