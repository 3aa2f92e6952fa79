# store: memcached
# A part of the members is gone, as by eviction: the rest is printed, and that it is the rest.
lose() { # PATTERN
    python3 - "$1" <<'END'
import os, re, socket, sys
with socket.socket(socket.AF_UNIX) as link:
    link.connect(re.match("memcached://([^?]*)", os.environ["MCDS_STORE"]).group(1))
    stream = link.makefile("rwb")
    stream.write(b"lru_crawler metadump hash\r\n")
    stream.flush()
    keys = [re.match(rb"key=(\S+)", line).group(1) for line in iter(stream.readline, b"END\r\n")]
    for key in keys:
        if re.search(sys.argv[1].encode(), key.replace(b"%3A", b":")):
            stream.write(b"delete %s\r\n" % key.replace(b"%3A", b":"))
            stream.flush()
            stream.readline()
END
}
for form in exact estimated; do
    mcds visitors hit seen ann --$form --period 0
    mcds online beat chat ann --$form --width 1d
    lose 'm2:.*:[0-9a-f]{16}$'
    run visitors get seen --$form --period 0
    run visitors estimate seen --$form --period 0
    run online get chat --$form --width 1d
    run --json visitors get seen --$form --period 0
    mcds visitors drop seen --$form --period 0
    mcds online drop chat --$form --width 1d
done
# a number that no program of ours counted to
mcds visitors hit forged ann
key=$(python3 -c 'import time; print(f"mcds:vc1:forged:86400000:{int(time.time()) // 86400}")')
python3 - "$key" <<'END'
import os, re, socket, sys
with socket.socket(socket.AF_UNIX) as link:
    link.connect(re.match("memcached://([^?]*)", os.environ["MCDS_STORE"]).group(1))
    link.sendall(b"set %s 0 0 20\r\n11111111111111111111\r\n" % sys.argv[1].encode())
    link.recv(100)
END
run visitors estimate forged
