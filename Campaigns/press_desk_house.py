"""Machines with networks of their own at one switch, a primary of PostgreSQL with a synchronous standby, and hosts on them. For
the campaign of a press desk; run nothing here by itself."""
import contextlib
import ctypes
import heapq
import itertools
import json
import os
import pathlib
import random
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import checker
import fleet_house
import house as houses
import postgres
from house import Failed, Waiting

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET, CLONE_NEWUTS = 0x40000000, 0x04000000
HBA = """\
local all,replication all trust
host replication tester 192.0.2.0/24 trust
host photoinbox photoinbox 192.0.2.0/24 scram-sha-256
"""
NETEM = ["netem", "delay", "20ms", "10ms", "loss", "1%"]


def call(*words):
    subprocess.run(words, check=True, capture_output=True, text=True)


def leave():
    """Leaves the machine's network for an empty one with a switch; why not, if that, or the trial, is not possible."""
    if not shutil.which("ip") or not postgres.INITDB:
        return "needs ip (package iproute2) and PostgreSQL's server (package postgresql)"
    if os.geteuid() or LIBC.unshare(CLONE_NEWNET):
        return "needs root"
    call("ip", "link", "add", "switch", "type", "bridge")
    call("ip", "link", "set", "switch", "up")
    return None


# --- machines and lines ---

class Machine:
    """A network and a name of its own. What a thread starts inside `with machine` runs there."""

    def __init__(self, name, number):
        self.name, self.address, self.home, self.port = name, f"192.0.2.{number}", self.opened(), f"p{number}"
        if LIBC.unshare(CLONE_NEWNET | CLONE_NEWUTS):
            raise OSError(ctypes.get_errno(), "cannot make a network")
        self.spaces = self.opened()
        try:
            socket.sethostname(name)
            call("ip", "link", "set", "lo", "up")
        finally:
            self.enter(self.home)
        space = f"/proc/{os.getpid()}/fd/{self.spaces[0]}"
        call("ip", "link", "add", self.port, "type", "veth", "peer", "name", "eth0", "netns", space)
        call("ip", "link", "set", self.port, "master", "switch", "up")
        with self:
            call("ip", "address", "add", self.address + "/24", "dev", "eth0")
            call("ip", "link", "set", "eth0", "up")

    @staticmethod
    def opened():
        return [os.open(f"/proc/thread-self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in ("net", "uts")]

    @staticmethod
    def enter(spaces):
        for space in spaces:
            if LIBC.setns(space, 0):
                raise OSError(ctypes.get_errno(), "cannot enter a network")

    def __enter__(self):
        self.enter(self.spaces)

    def __exit__(self, *_):
        self.enter(self.home)

    def pull(self):
        call("ip", "link", "set", self.port, "down")

    def plug(self):
        call("ip", "link", "set", self.port, "up")


# --- servers ---

class Servers:
    """A primary, and a standby that has applied what is committed."""

    def __init__(self, machines, base):
        self.machines, self.hba = machines, os.path.join(base, "hba")
        pathlib.Path(self.hba).write_text(HBA, encoding="ascii")
        self.homes, self.old = {}, []
        self.leading = self.begin(machines[0])
        self.follow(machines[1])

    def begin(self, machine):
        settings = ["fsync=off", f"listen_addresses={machine.address}", f"hba_file={self.hba}",
                    "synchronous_commit=remote_apply", "dynamic_shared_memory_type=mmap"]
        leading = getattr(self, "leading", None)
        if leading:
            address = self.homes[leading].address
            settings.append(f"primary_conninfo=host={address} user=tester application_name={machine.name}")
        with machine:
            server = postgres.Server(houses.default_base(), Waiting("answer of PostgreSQL"), leading, settings)
        self.homes[server] = machine
        return server

    def follow(self, machine):
        """A new standby, of the present primary, is there from now on."""
        self.following, waiting = self.begin(machine), Waiting("standby that follows")
        self.leading.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.leading.sql("SELECT pg_reload_conf()")
        while self.sql("SELECT sync_state FROM pg_stat_replication").stdout != "sync\n":
            waiting.once()

    def promote(self):
        self.following.sql("SELECT pg_promote()")
        self.leading, old = self.following, self.leading
        return old

    def end(self, server):
        server.process.stdin.close()
        server.process.wait()

    def words(self, database):
        return self.leading.words(database)

    def sql(self, *arguments, **options):
        return self.leading.sql(*arguments, **options)


# --- hosts ---

class Host(fleet_house.Host):
    dump = "st/run/state.json"

    def __init__(self, desk, machine):
        self.fleet, self.machine, self.name, self.manifest = desk, machine, machine.name, desk.manifest
        self.program, self.base = desk.program, os.path.join(desk.base, "hosts", machine.name)
        self.number, self.daemon, self.asked, self.ordinary = 0, None, [], False
        for name in ("", "outside", "own"):
            os.mkdir(self.path(name))
        self.configuration = self.path("own/photoinbox.toml")

    def set_up(self, servers):
        """As the guide of several hosts has it; what it said."""
        pathlib.Path(self.configuration).write_text(f"state = {json.dumps(self.path('st'))}\n", encoding="utf-8")
        addresses = ",".join(machine.address for machine in servers.machines)
        (passwords := pathlib.Path(self.path("own/pgpass"))).touch(mode=0o600)
        lines = [f"{machine.address}:5432:photoinbox:photoinbox:secret\n" for machine in servers.machines]
        passwords.write_text("".join(lines), encoding="ascii")
        words = f"hostaddr={addresses} dbname=photoinbox user=photoinbox passfile={passwords}"
        run = self.ask("setup", "--user", "--yes", "--for", "me", "--inbox", self.path("inbox"),
                       "--library", os.fsdecode(self.fleet.places.library), "--join", words)
        # A step is left: its start.
        if run.returncode != 3:
            raise Failed(f"setup on {self.name} ends with {run.returncode}: {run.stdout}{run.stderr}")

    def put(self, stem, members):
        """A set, or a photo alone."""
        if len(members) > 1:
            self.drop_set(stem, members)
        else:
            self.drop(stem + ".JPG", members[".JPG"])

    def start(self, fault=None, arguments=()):
        with self.machine:
            return super().start(fault, arguments)

    def ask(self, *words):
        """What a command says here."""
        program = os.path.join(os.path.dirname(self.program), "photoinbox")
        with self.machine:
            began = time.monotonic()
            run = subprocess.run([program, *words, "--config", self.configuration], capture_output=True, text=True, check=False,
                                 stdin=subprocess.DEVNULL, cwd="/",
                                 env=houses.plain_environment() | {"HOME": self.path("own")})
        if self.fleet.shows:
            took = time.monotonic() - began
            print(f"--- {self.name}$ photoinbox {' '.join(words)[:200]}   [{run.returncode}, {took:.1f} s]\n"
                  f"{run.stdout[:6000]}{run.stderr}", flush=True)
        return run

    def end(self):
        if self.daemon:
            self.daemon.abandon()


class Desk(fleet_house.Fleet):
    """The hosts, their library and their servers."""
    database = "photoinbox"

    def __init__(self, options):
        self.program, self.shows, self.lock = options.daemon, options.show, threading.RLock()
        self.base = tempfile.mkdtemp(prefix="photo-inbox-campaign-", dir=houses.default_base())
        # The servers read a file there.
        os.chmod(self.base, 0o755)
        for name in ("hosts", "canary"):
            os.mkdir(os.path.join(self.base, name))
        pathlib.Path(self.base, "canary/a.jpg").write_bytes(b"canary")
        names = ("db-1", "db-2", "press-1", "press-2", "ftp-1")
        machines = [Machine(name, number) for number, name in enumerate(names, 10)]
        self.machines, self.server = machines, Servers(machines[:2], self.base)
        for text in ("CREATE ROLE photoinbox LOGIN PASSWORD 'secret'", "CREATE DATABASE photoinbox OWNER photoinbox"):
            self.server.sql(text)
        self.places = fleet_house.Places(self.base, names[2:], self.server.words(self.database))
        for kind in ("duplicates", "quarantine", "returned"):
            setattr(self.places, kind, os.fsencode(os.path.join(self.base, kind)))
        self.manifest, self.drops = checker.Manifest(around=checker.canary(self.places)), {}
        self.hosts = [Host(self, machine) for machine in machines[2:]]

    def promote(self):
        old = self.server.promote()
        self.places.catalogue = os.fsencode(self.server.words(self.database))
        return old

    def remove(self):
        for host in self.hosts:
            host.end()
        for server in self.server.homes:
            if server.process.poll() is None:
                self.server.end(server)
        for machine in self.machines:
            call("ip", "link", "delete", machine.port)
            for space in machine.spaces + machine.home:
                os.close(space)
        shutil.rmtree(self.base, ignore_errors=True)


# --- slow lines ---

def slow(machines):
    """Delays and loses what every line carries, until what this returns is called; and in words, how."""
    ports = [machine.port for machine in machines]
    if not subprocess.run(["tc", "qdisc", "add", "dev", ports[0], "root", *NETEM], capture_output=True, check=False).returncode:
        for port in ports[1:]:
            call("tc", "qdisc", "add", "dev", port, "root", *NETEM)
        for machine in machines:
            with machine:
                call("tc", "qdisc", "add", "dev", "eth0", "root", *NETEM)
        return lambda: None, "netem"
    for port in ports:
        call("ip", "link", "add", port + "a", "type", "veth", "peer", "name", port + "b")
        call("ip", "link", "set", port, "nomaster")
        call("ip", "link", "set", port + "b", "up")
        call("ip", "link", "set", port + "a", "master", "switch", "up")
    relay = os.fork()
    if relay == 0:
        LIBC.prctl(1, signal.SIGKILL)
        try:
            carry(ports)
        finally:
            os._exit(1)

    def undo():
        os.kill(relay, signal.SIGKILL)
        os.waitpid(relay, 0)
        for port in ports:
            call("ip", "link", "delete", port + "a")
            call("ip", "link", "set", port, "master", "switch")
    return undo, "this kernel has no netem, so a program carries each packet"


def carry(ports):
    """Between each port and its other end, in both directions."""
    ways, late, numbers = {}, [], random.Random(1)
    for port in ports:
        pair = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW) for _ in range(2)]
        for one, name in zip(pair, (port, port + "b")):
            one.setsockopt(263, 15, 1)  # SOL_PACKET, PACKET_VNET_HDR: with what is left to the card, as checksums
            one.setsockopt(263, 23, 1)  # PACKET_IGNORE_OUTGOING
            one.bind((name, 3))  # ETH_P_ALL
        ways |= {pair[0]: pair[1], pair[1]: pair[0]}
    for number in itertools.count():
        left = late[0][0] - time.monotonic() if late else None
        for one in select.select(list(ways), [], [], left and max(0, left))[0]:
            packet = b""
            with contextlib.suppress(OSError):  # as of a line that is cut
                packet = one.recv(1 << 17)
            if packet and numbers.random() >= 0.01:
                heapq.heappush(late, (time.monotonic() + numbers.uniform(0.01, 0.03), number, id(one), ways[one], packet))
        while late and late[0][0] <= time.monotonic():
            *_, way, packet = heapq.heappop(late)
            with contextlib.suppress(OSError):
                way.send(packet)
