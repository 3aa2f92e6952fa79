# A made-up access log in the Combined format, the same on every machine and with every awk:
#   awk -f sample.awk [-v lines=20000]
# Four days with their nights, a few hundred hosts, pages of which some are loved much more,
# errors, and now and then a line that is no access.
function random(below)
{
    # Park and Miller, "Random number generators: good ones are hard to find", CACM 1988
    seed = (seed * 16807) % 2147483647
    return seed % below
}

# Small numbers much more often than large ones.
function favourite(below)
{
    return int(random(below) * random(below) * random(below) / (below * below))
}

function two(number)
{
    return number < 10 ? "0" number : number
}

function make_pages(    i)
{
    page_count = split("/ /index.html /style.css /logo.svg /news /about /robots.txt /favicon.ico " \
                       "/search?q=lease /search?q=counter /download /login /feed.xml", pages, " ")
    for (i = 1; i <= 40; i++)
        pages[++page_count] = "/article/" i
}

function host(    i)
{
    i = favourite(900)
    return i % 9 == 0 ? "2001:db8::" i : "198.51." 100 + int(i / 250) "." i % 250 + 1
}

function bad_line(    kind)
{
    kind = random(4)
    if (kind == 0)
        return host() " - - [" time "] \"-\" 408 - \"-\" \"-\""
    if (kind == 1)
        return host() " - - [" time "] \"\\x16\\x03\\x01\" 400 226 \"-\" \"-\""
    if (kind == 2)
        return "-- MARK --"
    return host() " - - [" time
}

# The clock goes on by a gap that is long at night and short at noon.
function pass_time()
{
    clock_ms += 1 + random(2 * int(gap_ms / rate[1 + int(clock_ms / 3600000) % 24]))
    second = int(clock_ms / 1000)
    time = two(17 + int(second / 86400)) "/May/2021:" two(int(second / 3600) % 24) ":" \
           two(int(second / 60) % 60) ":" two(second % 60) " +0000"
}

BEGIN {
    seed = 20150517
    if (lines == 0)
        lines = 20000
    make_pages()
    split("3 2 2 1 1 2 4 7 10 12 12 11 10 11 12 12 11 10 9 9 8 6 4 3", rate, " ")
    gap_ms = int(120000 * 20000 / lines)
    for (i = 0; i < lines; i++) {
        pass_time()
        if (random(2500) == 0) {
            print bad_line()
            continue
        }
        status = random(40) == 0 ? 404 : random(900) == 0 ? 500 : random(12) == 0 ? 304 : 200
        printf "%s - - [%s] \"%s %s HTTP/1.1\" %d %s \"-\" \"Mozilla/5.0 (sample)\"\n", host(),
               time, random(30) == 0 ? "POST" : "GET", pages[1 + favourite(page_count)], status,
               status == 304 ? "-" : 200 + random(90000)
    }
}
