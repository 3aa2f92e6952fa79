# Commands on one name take effect in order, however many are under way.
i=0
while [ $i -lt 300 ]; do
    echo "counter drop a"
    echo "counter add a"
    echo "counter add a 2"
    echo "counter get a"
    echo "counter take a"
    echo "counter add b"
    i=$((i + 1))
done >commands
mcds batch <commands >answers 2>errors
echo "-> $?"
wc -l <answers
tail -n +7 answers | paste - - - - - - | cut -f 1-5 | sort | uniq -c
awk 'NR % 6 == 0' answers | tail -n 1
cat errors
# More names than handles are kept, twice over.
i=0
while [ $i -lt 5000 ]; do
    echo "counter add many:$i"
    i=$((i + 1))
done >commands
cat commands commands | mcds batch | sort | uniq -c
