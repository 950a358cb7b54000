"""A proxy between a program and PostgreSQL, on Unix sockets, that knows where the messages of the protocol end, counts
them over all connections and in both directions, and strikes at the Nth. See
https://www.postgresql.org/docs/current/protocol-message-formats.html."""
import contextlib
import os
import re
import signal
import socket
import struct
import threading

# What may be done at a message. "late": as stalled, but what the program has sent comes to the server some time after the
# program has given up, as after a network was mended. "killed": the program, when the message has been passed on. "refused": the
# server answers with an error to what the program has sent from this statement to the next Sync.
KINDS = ("cut-before", "cut-after", "stalled", "late", "killed", "refused")
# What a server may refuse a statement with, whichever it is: its disk is full or broken, or it has no memory; a deadlock, a wait that
# is over, or a person ended the statement; it is a standby, takes no more connections, or is stopping; a page is damaged.
REFUSALS = ("53100", "58030", "53200", "40P01", "40001", "55P03", "57014", "25006", "53300", "57P01", "XX001", "XX000")
# And "stopped", where there are several hosts: at the Nth answer the program stands still, as after SIGSTOP, and hears it when
# it goes on. An answer is all that follows what the program has sent at once, so that whichever of its messages was held would be
# the same. Nor is that to the end of a transaction which only reads one, since nothing comes between.


class Connection:
    def __init__(self, program, server, number):
        self.program, self.server, self.number = program, server, number
        self.is_silent = False  # nothing more is passed on
        self.held = []
        self.directions = 2
        self.first = ""  # what the program has sent, from its first message to a Sync
        self.is_reading = self.is_awaiting = False  # a transaction that only reads; an answer
        self.parsed = ""  # the statement that was sent last
        self.is_refused = False  # up to the next Sync nothing is passed on

    def is_answer(self, is_program, words):
        """Whether an answer begins with this message."""
        if not is_program:
            was_awaiting, self.is_awaiting = self.is_awaiting, False
            return was_awaiting
        self.first = self.first or words
        if words.startswith("> P BEGIN"):
            self.is_reading = "READ ONLY" in words
        if words == "> S":
            self.is_awaiting, self.first = not (self.is_reading and self.first.startswith("> P COMMIT")), ""
        return False

    def may_refuse(self, message, words):
        """Whether this message executes a statement that a server may refuse. After a COMMIT the outcome would be in doubt: the
        other kinds see to that."""
        if words.startswith("> P") and message[5] == 0:
            self.parsed = words
        if words == "> B" and message[5:].split(b"\0")[1]:
            self.parsed = ""
        return words == "> E" and not self.parsed.startswith(("> P COMMIT", "> P ROLLBACK"))

    def cut(self):
        for end in (self.program, self.server):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def signal_program(self, number):
        peer = self.program.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        with contextlib.suppress(ProcessLookupError):
            os.kill(struct.unpack("3i", peer)[0], number)


class Wire:
    """Listens in `directory`, which it makes, as the server at the socket `server` does. Each direction of each connection
    has a thread, so that neither waits for the other."""

    def __init__(self, directory, server):
        self.server, self.lock, self.is_over = server, threading.Lock(), threading.Event()
        self.connections, self.goes_on = set(), threading.Event()
        self.arm()
        os.mkdir(directory)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(os.path.join(directory, ".s.PGSQL.5432"))
        os.chmod(self.listener.getsockname(), 0o777)
        self.listener.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def arm(self, at=0, kind=None, late=0, refusal="53100"):
        """Counts anew, and strikes at message `at`; what is late comes after `late` seconds, what is refused for this reason."""
        with self.lock:
            self.at, self.kind, self.late, self.refusal = at, kind, late, refusal
            self.goes_on.set()
            self.goes_on = threading.Event()
            self.trace = []  # (connection, whether it is the program's, message in words, whether a server may refuse it)
            self.answers = 0
            self.fired = None  # (number, kind, message in words)

    def disarm(self):
        """Strikes no more; what it did stays known."""
        with self.lock:
            self.at = 0

    def close(self):
        self.is_over.set()
        self.goes_on.set()
        with self.lock, contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
            for connection in self.connections:
                connection.cut()

    def accept(self):
        number = 0
        with self.listener, contextlib.suppress(OSError):
            while True:
                program, server = self.listener.accept()[0], socket.socket(socket.AF_UNIX)
                try:
                    server.connect(self.server)
                except OSError:
                    program.close()
                    continue
                number += 1
                connection = Connection(program, server, number)
                with self.lock:
                    self.connections.add(connection)
                for is_program in (True, False):
                    threading.Thread(target=self.pass_on, args=(connection, is_program), daemon=True).start()

    def pass_on(self, connection, is_program):
        """All of one direction, to its end."""
        source, target = connection.program, connection.server
        if not is_program:
            source, target = target, source
        try:
            for message, words in messages(source, is_program):
                self.take(connection, is_program, target, message, words)
            if is_program and connection.held:
                self.is_over.wait(self.late)
                target.sendall(b"".join(connection.held))
            target.shutdown(socket.SHUT_WR)
        except OSError:
            connection.cut()
        with self.lock:
            connection.directions -= 1
            if not connection.directions:
                self.connections.remove(connection)
                connection.program.close()
                connection.server.close()

    def take(self, connection, is_program, target, message, words):
        with self.lock:
            if connection.is_silent:
                if connection.held and is_program:
                    connection.held.append(message)
                return
            if is_program and connection.is_refused:
                connection.is_refused = words != "> S"
                return
            may_refuse = is_program and connection.may_refuse(message, words)
            self.trace.append((connection.number, is_program, words, may_refuse))
            is_answer = connection.is_answer(is_program, words)
            self.answers += is_answer
            if self.kind == "stopped":
                is_there = is_answer and self.answers == self.at
            elif self.kind == "refused":
                # The Nth, or the next one: lives differ by a message or two.
                is_there = may_refuse and self.at and len(self.trace) >= self.at and not self.fired
            else:
                is_there = len(self.trace) == self.at
            struck = self.kind if is_there else None
            if struck:
                self.fired = (self.at, struck, f"connection {connection.number} {words}")
                connection.is_silent = struck not in ("stopped", "refused")
                connection.is_refused = struck == "refused"
            goes_on = self.goes_on
            if struck == "stopped":
                connection.signal_program(signal.SIGSTOP)
            if struck == "late" and is_program:
                connection.held.append(message)
        if struck == "stopped":
            goes_on.wait()
        if struck == "refused":
            # A query of its own ends what was sent since the last Sync: the server itself fails it, and its transaction.
            target.sendall(refusal(self.refusal))
        if struck in (None, "cut-after", "killed", "stopped"):
            target.sendall(message)
        if struck in ("cut-before", "cut-after"):
            connection.cut()
        if struck == "killed":
            connection.signal_program(signal.SIGKILL)


def refusal(code):
    """The query that a server refuses for this reason; a server that is stopping ends the connection."""
    sql = ("SELECT pg_terminate_backend(pg_backend_pid())" if code == "57P01" else
           f"DO $$ BEGIN RAISE EXCEPTION 'struck' USING ERRCODE = '{code}'; END $$").encode() + b"\0"
    return b"Q" + struct.pack("!I", len(sql) + 4) + sql


# What is done behind a filing, and not for it alone.
BEHIND = re.compile(r"metadata|(FROM|INTO) (sidecar|hook)|UPDATE host SET said")


class Trips(Wire):
    """Counts the round trips of a program: what it sends up to each Sync, as statements."""

    def __init__(self, directory, server):
        self.names, self.open, self.done, self.mutex = {}, {}, [], threading.Lock()
        super().__init__(directory, server)

    def take(self, connection, is_program, target, message, words):
        kind, rest, number = message[:1], message[5:].split(b"\0"), connection.number
        if is_program and kind in b"PBS":
            with self.mutex:
                if kind == b"P":
                    self.names[number, rest[0]] = " ".join(rest[1].decode().split())
                elif kind == b"B":
                    self.open.setdefault(number, []).append(self.names.get((number, rest[1]), "?"))
                else:
                    self.done.append((number, self.open.pop(number, [])))
        super().take(connection, is_program, target, message, words)

    def take_all(self):
        """Those since the last call, by transactions: of filings, and of what comes behind them."""
        with self.mutex:
            done, self.done = self.done, []
        transactions, open_ones = [], {}
        for number, trip in done:
            if number not in open_ones:
                transactions.append(open_ones.setdefault(number, []))
            open_ones[number].append(trip)
            has_begun = any(sql.startswith("BEGIN") for each in open_ones[number] for sql in each)
            if trip and (not has_begun or trip[-1] in ("COMMIT", "ROLLBACK")):
                del open_ones[number]
        parts = ([], [])
        for each in transactions:
            parts[any(BEHIND.search(sql) for trip in each for sql in trip)].append(each)
        return parts


def messages(source, is_program):
    """Each whole message that comes, and the same for people."""
    # A program's first one has no type. On a Unix socket libpq asks for no encryption, whose answer would be no message.
    head, arrow = 4 if is_program else 5, ">" if is_program else "<"
    with source.makefile("rb") as stream:
        while len(begin := stream.read(head)) == head:
            rest = stream.read(length := struct.unpack("!I", begin[-4:])[0] - 4)
            if len(rest) < length:
                return
            kind = begin[:-4].decode("latin-1") or "startup"
            said = {">P": rest.split(b"\0")[1:2], ">Q": [rest[:-1]], "<C": [rest[:-1]], "<E": [rest]}.get(arrow + kind, [])
            yield begin + rest, " ".join([arrow, kind] + [" ".join(text.decode("utf-8", "replace").split()) for text in said])
            head = 5
