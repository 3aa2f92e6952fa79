# The figures of an access log, by another way: regular expressions over whole lines.
# Feed it with NUL bytes changed to \001, in the C locale. Prints one figure a line, then
# "views COUNT PAGE" for each page, "hosts COUNT HOST" for each client host, "large SIZE PAGE" for
# each of the responses that differ, "referrer 1 TEXT" for each referrer and "error 1 LINE" for each
# line with a status of 400 and more.
BEGIN {
    word = "[^ ]+"
    time = "\\[(0[1-9]|[12][0-9]|3[01])/(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)/" \
           "[0-9][0-9][0-9][0-9]:([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60) " \
           "[-+][0-9][0-9][0-9][0-9]\\]"
    quoted = "\"([^\"\\\\]|\\\\.)*\""
    head = "^" word " " word " " word " " time " "
    tail = " [0-9][0-9][0-9] ([0-9]+|-)( |$)"
    lines = malformed = errors = visitors = pages = 0
}

{
    lines++
    whole = $0
    long = length($0) > 1048576
    sub(/\r$/, "")
    if (long || $0 !~ head quoted tail) {
        malformed++
        next
    }
    match($0, head)
    rest = substr($0, RLENGTH + 1)
    match(rest, "^" quoted)
    request = substr(rest, 2, RLENGTH - 2)
    status = substr(rest, RLENGTH + 2, 3)
    parts = split(request, part, / /)
    host = substr($0, 1, index($0, " ") - 1)
    if (parts < 2 || parts > 3 || part[1] == "" || part[2] == "" ||
        (parts == 3 && part[3] == "") || index(host part[2], "\001") > 0) {
        malformed++
        next
    }
    if (!(host in seen))
        visitors++
    seen[host]++
    if (!(part[2] in views))
        pages++
    views[part[2]]++
    rest = substr(rest, index(rest, request "\"") + length(request) + 6)
    size = rest
    sub(/ .*/, "", size)
    responses[(size == "-" ? 0 : size) " " part[2]] = 1
    if (match(rest, "^[^ ]+ " quoted)) {
        referrer = substr(rest, length(size) + 3, RLENGTH - length(size) - 3)
        if (referrer != "" && referrer != "-" && index(referrer, "\001") == 0)
            referrers[referrer] = 1
    }
    if (status + 0 >= 400) {
        errors++
        error[errors] = whole
    }
}

END {
    print "lines", lines
    print "malformed", malformed
    print "errors", errors
    print "visitors", visitors
    print "pages", pages
    for (page in views)
        print "views", views[page], page
    for (host in seen)
        print "hosts", seen[host], host
    for (response in responses)
        print "large", response
    for (referrer in referrers)
        print "referrer", 1, referrer
    for (i = 1; i <= errors; i++)
        print "error", 1, error[i]
}
