# store: memcached
# keys that hold what mcds did not write: every verb says so and changes nothing
/usr/bin/python3 - "$SOCKET" <<'END'
import socket, sys, time
with socket.socket(socket.AF_UNIX) as server:
    server.connect(sys.argv[1])
    slot = int(time.time() // 86400)
    for key in ("c1:x", "c1:e", "lk1:x", "vc1:x:0:0", "vm2:y:0:0", "vm2:z:0:0", "s2:x", "t2:x", "l1:x", "e1:x", "a1:x"):
        server.sendall(b"set mcds:%s 0 0 16\r\nwho wrote this??\r\n" % key.encode())
        assert server.recv(100) == b"STORED\r\n"
END
hide() { sed "s,$SOCKET,SOCKET,"; }
while read -r line; do
    echo "\$ mcds $line"
    eval "mcds $line" </dev/null 2>&1
    echo "-> $?"
done <<'END' | hide
counter get x
counter add x
counter take x
counter add e --exact
counter get e --exact
lock x -w 0 -- true
lock x --info
lock x --break
visitors hit x ann --period 0
visitors get x --period 0
visitors hit y ann --period 0 --exact
visitors get y --period 0 --exact
visitors hit z ann --period 0 --estimated
visitors get z --period 0 --estimated
set add x a
set remove x a
set has x a
set scan x
set drop x
table put x key value
table get x key
table has x key
table remove x key
table incr x key
table scan x
table drop x
list push x a
list scan x
list clear x
list drop x
log put x a
log scan x
log tail x
log drop x
array scan x
array set x a
array change x --add a
array drop x
--json table get x key
END
mcds ls | sort
