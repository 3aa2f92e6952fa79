# store: memcached
store() {
    /usr/bin/python3 - "$SOCKET" "$1" "$2" <<'END'
import socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect(sys.argv[1])
    key, value = sys.argv[2].encode(), sys.argv[3].encode()
    server.sendall(b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value))
    assert server.recv(100) == b"STORED\r\n"
END
}
store mcds:c1:text hello
hide() { sed "s,$SOCKET,SOCKET,"; }
run counter get text 2>&1 | hide
run counter add text 2>&1 | hide
run counter take text 2>&1 | hide
run ls -l 2>&1 | hide
run counter drop text
run counter add text
