# Each answer comes before the next question is asked.
mkfifo questions answers
mcds batch <questions >answers &
exec 3>questions 4<answers
for i in 1 2 3; do
    echo "counter add x $i" >&3
    read -r answer <&4
    echo "$i: $answer"
done
exec 3>&-
wait $!
echo "-> $?"
