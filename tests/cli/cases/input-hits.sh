# - is standard input for the verbs that count, as for those that add; after -- it is a name
printf 'ann\nbob\nann\n' | run visitors hit site - --period 0
run visitors get site --period 0
run visitors hit site --period 0 -- -
run visitors hit site --period 0 </dev/null
run visitors get site --period 0
printf 'ann\nann\n' | run online beat site - --width 1d --estimated
run online get site --width 1d --estimated
printf 'home\nnews\nhome\n' | run views hit pages - --database lmdb:./kept.mdb
run views get pages home --database lmdb:./kept.mdb
run views get pages news --database lmdb:./kept.mdb
printf 'a\000b\n\n' | run visitors hit odd - --period 0
printf "\$'a\\\\x01b'\n" | run visitors hit odd - --period 0
printf "\$'a\\\\x01b'\n" | run visitors hit odd - --period 0 --raw
run visitors hit odd "$(printf 'a\001b')" --period 0
run visitors hit odd "\$'a\\x01b'" --period 0
run --json visitors hit site - --period 0 </dev/null
printf 'visitors hit site -\n' | run batch
run online beat site
