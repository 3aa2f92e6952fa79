# The rules behind tools/layers, over C files given by their paths from the top of the tree.
# Prints FILE:LINE: sentence for each violation.

# Files of `directory` may include those of `others` (a list in blanks).
function may(directory, others) {
    allowed[directory] = " " others " "
}

# What matches `what` belongs to files that match `owners`; "-": to nobody.
function own(what, owners, sentence) {
    rules++
    rule_what[rules] = what
    rule_owners[rules] = "^(" owners ")$"
    rule_sentence[rules] = sentence
}

# A call of one of these functions; a member of that name is something else.
function call(names) {
    return "(^|[^A-Za-z0-9_.>])(" names ")[ \t]*\\("
}

BEGIN {
    may("src/base", "src/base")
    may("src/store", "src/base src/store")
    may("src/engine", "src/base src/store src/engine")
    may("src/core", "src/base src/store src/engine src/core")
    may("src/structures", "src/base src/store src/engine src/core src/structures")
    may("src/sim", "src/base src/store src/engine src/sim")
    may("cli", "cli")
    may("examples/weblog", "examples/weblog examples/views")

    lmdb = "src/store/lmdb/.*"
    memcached = "src/store/memcached/.*"
    memory = "src/store/memory/.*"
    programs = "(cli|examples)/.*"
    own("#include \"store/backends[.]h\"", "src/store/((store|backends)[.]c|(memory|lmdb|memcached)/.*)",
        "only store.c and backends.c know the backends, and each backend itself")
    own("#include \"store/lmdb/", lmdb, "only the lmdb backend looks into itself")
    own("#include \"store/memcached/", memcached,
        "only the memcached backend looks into itself")
    own("#include \"store/memory/", memory "|src/sim/.*",
        "only the memory backend and the simulator know the items")
    own("#include <lmdb[.]h>", "src/store/lmdb/.*", "only the lmdb backend includes lmdb.h")
    own("#include <(sys/socket|sys/un|netdb|poll|netinet/[a-z]*|arpa/[a-z]*)[.]h>",
        "src/store/memcached/socket(_address)?[.]c|" programs, "only socket.c touches sockets")
    own(call("socket|connect|recv|recvmsg|send|sendmsg|poll|getaddrinfo"),
        "src/store/memcached/socket(_address)?[.]c|" programs, "only socket.c touches sockets")
    own("#include <openssl/", "src/store/memcached/tls/.*", "only the files of tls use OpenSSL")
    own(call("clock_gettime|gettimeofday|time|getrandom|getentropy|rand|random|srand|" \
             "nanosleep|clock_nanosleep|usleep|sleep"),
        "src/base/environment[.]c|" programs,
        "only the environment reads clocks and randomness and sleeps")
    own(call("malloc|calloc|realloc|reallocarray|strdup|strndup|asprintf|vasprintf|free"),
        "src/base/environment[.]c|" programs, "only the environment gives and takes memory")
    own(call("printf|fprintf|vprintf|vfprintf|puts|fputs|putchar|perror|syslog"), programs,
        "the library prints nothing")
    own("(^|[^A-Za-z0-9_.>])(stdout|stderr)([^A-Za-z0-9_]|$)", programs,
        "the library prints nothing")
    own(call("abort|exit|_exit|raise|signal|sigaction"), programs,
        "the library neither ends its process nor takes its signals")
    own(call("strcpy|strcat|sprintf|vsprintf|strtok|atoi|atol|gets|alloca"), "-",
        "banned: without a bound, or hides its errors")
}

FNR == 1 {
    comment = 0
    directory = FILENAME
    sub(/\/[^\/]*$/, "", directory)
    if (match(directory, /^(src\/[a-z]+|cli)/)) # the folders within are one layer
        directory = substr(directory, 1, RLENGTH)
}

# The line without comments, its strings emptied; the name in an #include stays.
{
    code = ""
    line = $0
    if (!comment && line ~ /^[ \t]*#[ \t]*include/) {
        sub(/^[ \t]*#[ \t]*include[ \t]*/, "#include ", line)
        code = line
        line = ""
    } else if (!comment && line !~ /["']|\/[*\/]/) {
        code = line
        line = ""
    }
    while (line != "") {
        if (comment) {
            end = index(line, "*/")
            line = end == 0 ? "" : substr(line, end + 2)
            comment = end == 0
        } else if (substr(line, 1, 2) == "/*") {
            comment = 1
            line = substr(line, 3)
        } else if (substr(line, 1, 2) == "//") {
            line = ""
        } else if (match(line, /^"([^"\\]|\\.)*"/) || match(line, /^'([^'\\]|\\.)*'/)) {
            code = code "\"\""
            line = substr(line, RLENGTH + 1)
        } else {
            code = code substr(line, 1, 1)
            line = substr(line, 2)
        }
    }
}

code ~ /^#include "/ && directory in allowed {
    name = code
    sub(/^#include "/, "", name)
    sub(/".*/, "", name)
    if (name == "mcds.h")
        into = directory
    else if (name == "mcds/backend.h")
        into = "src/base"
    else if (name == "mcds/sim.h") # sized.c has the size of each public struct
        into = FILENAME ~ /src\/base\/sized[.]c$/ ? directory : "src/sim"
    else if (name !~ /\// || (directory == "cli" && name !~ /^(base|store|engine|core|structures|sim)\//))
        into = directory
    else {
        into = (directory ~ /^examples\// ? "examples/" : "src/") name
        sub(/\/[^\/]*$/, "", into)
        if (match(into, /^src\/[a-z]+/))
            into = substr(into, 1, RLENGTH)
    }
    if (index(allowed[directory], " " into " ") == 0)
        print FILENAME ":" FNR ": " directory " must not include " name
}

code ~ /[#(]|std/ {
    for (i = 1; i <= rules; i++)
        if (code ~ rule_what[i] && FILENAME !~ rule_owners[i])
            print FILENAME ":" FNR ": " rule_sentence[i]
}
