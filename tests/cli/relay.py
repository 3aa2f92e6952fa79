"""A relay in front of a server on a unix socket. A subclass reads each piece of data and decides when the relay ends."""

import os
import socket
import threading


class Relay:
    """Passes bytes both ways until `close`; from then on it refuses connections."""

    def __init__(self, path, server, left):
        self.path, self.server, self.left = path, server, left
        self.mutex = threading.Lock()
        self.ends = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def pass_request(self, data, server):
        server.sendall(data)

    def pass_reply(self, data, client):
        client.sendall(data)

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self.server)
            except OSError:
                return
            with self.mutex:
                self.ends += [client, server]
            for pump in ((client, server, self.pass_request), (server, client, self.pass_reply)):
                threading.Thread(target=self.pump, args=pump, daemon=True).start()

    def pump(self, source, target, pass_data):
        try:
            while data := source.recv(1 << 20):
                pass_data(data, target)
        except OSError:  # the other direction has closed the relay
            pass

    def close(self):
        with self.mutex:
            for end in [self.listener, *self.ends]:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
                end.close()
            self.ends = []
        try:
            os.unlink(self.path)
        except FileNotFoundError:  # closed before
            pass
