"""Relays in front of a server on a unix socket. A subclass reads each piece of data and decides when the relay ends."""

import os
import socket
import threading
import time


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


class CutRelay(Relay):
    """Ends after `left` bytes of replies."""

    def pass_reply(self, data, client):
        self.left -= len(data)
        client.sendall(data[:self.left] if self.left < 0 else data)
        if self.left < 0:
            self.close()


class SilentRelay(Relay):
    """Passes no reply from a request with `word` on. None: it passes all."""

    def __init__(self, path, server, word):
        super().__init__(path, server, 0)
        self.word, self.has_come = word, threading.Event()

    def pass_request(self, data, server):
        if self.word is not None and self.word in data:
            self.has_come.set()
        server.sendall(data)

    def pass_reply(self, data, client):
        if not self.has_come.is_set():
            client.sendall(data)


class LosingRelay(SilentRelay):
    """Passes no reply for so many seconds from the first request with `word` on."""

    seconds = until = 0

    def pass_request(self, data, server):
        if self.word is not None and self.word in data and not self.has_come.is_set():
            self.until = time.monotonic() + self.seconds
        super().pass_request(data, server)

    def pass_reply(self, data, client):
        if time.monotonic() >= self.until:
            client.sendall(data)
