# store: memcached
head -c 2000000 /dev/zero | mcds table put files two -
echo "-> $?"
mcds table put files small 1
head -c 2000000 /dev/zero | mcds table put files small - --if-absent
head -c 300000 /dev/zero | tr '\0' x | sed 's/^/large\t/' >line
(echo 'before	1' && cat line && printf '\nafter	1\n') | mcds table put files
echo "-> $?"
mcds table scan files | sort
