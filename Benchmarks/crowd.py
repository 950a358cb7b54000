#!/usr/bin/python3 -B
"""Clients of the control socket that mean no good, until they are ended.

usage: crowd.py SOCKET COUNT

Kinds, in turn: who says nothing; one byte a second; half a frame; a length that is far too large; garbage; who asks for
the state again and again and never reads; who connects and closes ten times a second. Whoever is sent away is back after a
second. Prints "ready" once all have tried, and at the end one JSON object of what they did.
"""
import errno
import heapq
import json
import os
import random
import select
import signal
import socket
import sys
import time

KINDS = ("silent", "drip", "half", "huge", "garbage", "deaf", "storm")
STATE = b'{"version":1,"id":1,"do":"state"}'
FRAME = len(STATE).to_bytes(4, "big") + STATE


class Client:
    def __init__(self, number):
        self.kind = KINDS[number % len(KINDS)]
        self.socket = None


class Crowd:
    def __init__(self, path, count):
        self.path, self.done = path, dict.fromkeys(("connected", "refused", "sent_away", "asked"), 0)
        self.poller, self.clients, self.due, self.order = select.epoll(), {}, [], 0
        for number in range(count):
            self.later(number / count, Client(number))

    def later(self, seconds, client):
        self.order += 1
        heapq.heappush(self.due, (time.monotonic() + seconds, self.order, client))

    def connect(self, client):
        client.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            client.socket.connect(self.path)
        except OSError:  # EAGAIN: the backlog is full
            self.done["refused"] += 1
            return self.close(client, 0.1)
        self.done["connected"] += 1
        if client.kind == "storm":
            return self.close(client, 0.1)
        self.clients[client.socket.fileno()] = client
        # For clients that never read only the server's end is polled.
        self.poller.register(client.socket, select.EPOLLRDHUP | (0 if client.kind == "deaf" else select.EPOLLIN))
        return self.speak(client)

    def speak(self, client):
        words = {"drip": FRAME[:1], "half": FRAME[:20], "huge": b"\xff\xff\xff\xff" + FRAME,
                 "garbage": random.randbytes(200), "deaf": FRAME * 16}.get(client.kind)
        if words is None:
            return
        try:
            client.socket.send(words)
            self.done["asked"] += client.kind == "deaf"
        except OSError as error:
            if error.errno != errno.EAGAIN:
                return self.close(client, 1)
        if client.kind in ("drip", "deaf"):
            self.later(1, client)

    def close(self, client, again):
        self.clients.pop(client.socket.fileno(), None)
        client.socket.close()
        client.socket = None
        self.later(again, client)

    def run(self, is_over):
        begun, told = time.monotonic(), False
        while not is_over():
            while self.due and self.due[0][0] <= time.monotonic():
                client = heapq.heappop(self.due)[2]
                if client.socket is None:
                    self.connect(client)
                else:
                    self.speak(client)
            if not told and time.monotonic() - begun > 2:
                told = True
                print("ready", flush=True)
            for descriptor, events in self.poller.poll(0.01):
                client = self.clients.get(descriptor)
                if client is None:
                    continue
                if events & (select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR) or not self.read(client):
                    self.done["sent_away"] += 1
                    self.forget(client)
        return self.done

    @staticmethod
    def read(client):
        try:
            return bool(client.socket.recv(65536))
        except OSError:
            return False

    def forget(self, client):
        # A client that sends soon is requeued then; a second entry would duplicate it.
        waits = any(entry[2] is client for entry in self.due) if client.kind in ("drip", "deaf") else False
        if waits:
            self.clients.pop(client.socket.fileno(), None)
            client.socket.close()
            client.socket = None
        else:
            self.close(client, 1)


def main():
    over = []
    signal.signal(signal.SIGTERM, lambda *_: over.append(True))
    done = Crowd(sys.argv[1], int(sys.argv[2])).run(lambda: over)
    times = os.times()
    print(json.dumps({**done, "processor_seconds": times.user + times.system}))


if __name__ == "__main__":
    main()
