run list scan jobs
run list clear jobs
run list push jobs "resize 17"
run list push jobs 'resize 18' -- -x -
run list scan jobs
run list scan jobs --skip 1
run list scan jobs --limit 2
run list scan jobs --skip 2 --limit 1 --json
run list scan jobs --skip 4
run list scan jobs --limit 0
run list push jobs ''
run list push jobs "$(printf 'two\nlines')"
run list scan jobs --skip 4
run -q list push jobs quiet
run list clear jobs
run list scan jobs
run list push jobs again
run list scan jobs
run list drop jobs
run list drop jobs
run list scan jobs
run list push
run list push ''
run list push jobs a - b
# a line for each value, in their order
seq 5000 | mcds list push many
seq 5000 >many
mcds list scan many | cmp - many && echo same
mcds list scan many --skip 4321 --limit 2
mcds list scan many | head -n 2
mcds list scan many >/dev/full
echo "-> $?"
printf 'nul\000 and\ttab\n\n\377\n' | mcds list push odd
mcds list scan odd >odd
mcds list push again <odd
mcds list scan again | cmp - odd && echo same
mcds --json list scan odd
printf "\$'x\nfine\n" | mcds list push odd
echo "-> $?"
printf 'a\nb\n' | mcds --json list push odd -
# large values, and one that is too large
head -c 300000 /dev/zero | tr '\0' x >large
(cat large; echo; cat large; echo) | mcds list push large
mcds list scan large | wc -c
seq 60 | sed "s/.*/list push racing &/" | mcds batch | uniq -c
mcds list scan racing | tail -n 1
printf '%s\n' 'list push b 1' 'list push b 2 3' 'list scan b' 'list push b' 'list clear b' 'list scan b' \
    'list drop b' 'list scan b' | mcds batch
