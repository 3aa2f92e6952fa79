# Apply one mutant to the tree that is named by -v tree=DIR, and print the files it has changed.
#
#   awk -v tree=DIR [-v dry=1] -f mutants.awk FILE.mutant
#
# docs/testing.md tells what stands in it. The text that is to be replaced must be in its file
# exactly once; else nothing is written, and awk ends with 1.

function complain(what) {
    print FILENAME ": " what >"/dev/stderr"
    failed = 1
}

# What stands in a file of the tree, as the mutants before have left it.
function load(path,    line, text) {
    if (path in texts)
        return
    while ((getline line <(tree "/" path)) > 0)
        text = text line "\n"
    close(tree "/" path)
    if (text == "")
        complain("there is no " path)
    texts[path] = text
}

function apply(    at, rest) {
    if (path == "")
        return
    load(path)
    if (old == new)
        complain("nothing is changed in " path)
    at = index(texts[path], "\n" old)
    if (at == 0) {
        complain("its text is not in " path " any more")
        return
    }
    rest = substr(texts[path], at + 1 + length(old))
    if (index("\n" rest, "\n" old) > 0) {
        complain("its text stands in " path " more than once")
        return
    }
    texts[path] = substr(texts[path], 1, at) new rest
}

/^file / {
    apply()
    path = $2
    old = new = ""
    next
}
/^[-+ ]/ && path != "" {
    if (substr($0, 1, 1) != "+")
        old = old substr($0, 2) "\n"
    if (substr($0, 1, 1) != "-")
        new = new substr($0, 2) "\n"
    next
}
/^killed by [a-z]/ {
    killers++
    next
}
/^breaks G-[A-Z]+-[0-9]+$/ { next }
/^(short)?$/ {
    said = said || NR > 1
    next
}
said || NR > 30 { complain("line " FNR " says nothing to me: " $0) }

END {
    apply()
    if (killers == 0)
        complain("no test is to kill it")
    if (failed)
        exit 1
    for (path in texts) {
        if (!dry)
            printf "%s", texts[path] >(tree "/" path)
        print path
    }
}
