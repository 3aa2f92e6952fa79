# store: memcached
# Nothing listens there, and something that is no memcached.
hide() { sed "s/127.0.0.1:[0-9]*/HOST/"; }
run -s memcached://127.0.0.1:1 counter get x 2>&1 | hide
run -s memcached://127.0.0.1:1 lock x -n -- true 2>/dev/null
run -s memcached://127.0.0.1:1 doctor 2>&1 | tail -n 1
cat >web.py <<'END'
import socket
with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1], flush=True)
    while True:
        peer, _ = server.accept()
        peer.recv(100)
        peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        peer.close()
END
mkfifo port
/usr/bin/python3 web.py >port &
read -r port <port
run -s "memcached://127.0.0.1:$port" counter get x 2>&1 | hide
run -s "memcached://127.0.0.1:$port" counter add x 2>&1 | hide
kill $!
# One that asks for a password. The first may still have its pipe open.
sed 's/HTTP.*n"/CLIENT_ERROR unauthenticated\\r\\n"/' web.py >password.py
mkfifo second
/usr/bin/python3 password.py >second &
read -r port <second
run -s "memcached://127.0.0.1:$port" counter get x 2>&1 | hide
run -s "memcached://127.0.0.1:$port" doctor 2>&1 | tail -n 2 | hide
kill $!
