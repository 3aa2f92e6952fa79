# The circles among object files, from the output of `nm -A -P -g`; with -v edges=1 the edges in them.

{
    file = $1
    sub(/:$/, "", file)
    sub(/[.]c[.]o$/, "", file)
    if (!(file in known)) {
        known[file] = ++files
        name[files] = file
    }
    if ($3 ~ /^[Uvw]$/)
        needs[known[file], ++count[known[file]]] = $2
    else
        owner[$2] = known[file]
}

# Mark what `from` reaches. Each file is entered once.
function reach(from, root,    i, to) {
    for (i = 1; i <= count[from]; i++) {
        to = owner[needs[from, i]]
        if (to == "" || to == from || (root, to) in reached)
            continue
        reached[root, to] = 1
        reach(to, root)
    }
}

END {
    for (i = 1; i <= files; i++)
        reach(i, i)
    for (i = 1; i <= files; i++) {
        if (!((i, i) in reached) || i in said)
            continue
        members = 0
        for (j = 1; j <= files; j++)
            if ((i, j) in reached && (j, i) in reached) {
                said[j] = i
                member[++members] = name[j]
            }
        # By insertion: a circle is short.
        for (j = 2; j <= members; j++)
            for (k = j; k > 1 && member[k - 1] > member[k]; k--) {
                swap = member[k]
                member[k] = member[k - 1]
                member[k - 1] = swap
            }
        line = member[1]
        for (j = 2; j <= members; j++)
            line = line " " member[j]
        if (!edges)
            print line
    }
    if (!edges)
        exit
    for (i = 1; i <= files; i++)
        for (k = 1; k <= count[i]; k++) {
            to = owner[needs[i, k]]
            if (to != "" && to != i && i in said && to in said && said[i] == said[to])
                print name[i] " -> " name[to] ": " needs[i, k]
        }
}
