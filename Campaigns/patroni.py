#!/usr/bin/python3
"""Two daemons on a catalogue that Patroni keeps, with etcd and two or three nodes, as Debian has them. While photos, sets,
duplicates and damaged photos arrive in both inboxes and are taken back, in an order that is drawn: `patronictl switchover`;
SIGKILL to all of the leader's node, which comes back after the failover; SIGSTOP to the leader's Patroni until another one
leads, while the old primary goes on, and perhaps a host is begun again; and etcd is away, until nobody takes writes. Daemons
that end are begun again, as a service manager would. At every look there is a whole copy of everything. In the end, all by
itself, inboxes are empty, each content is in the library once and has a row, no record is without its file, nothing is half
done, and one life more changes nothing. Where Patroni replicates synchronously, no record that was seen is missing on a new
primary, and no daemon ends.

usage: Campaigns/patroni.py [--synchronous | --asynchronous] [--ttl SECONDS] [--nodes N] [--etcd3] [--seed N]
                            [--patience SECONDS] [--daemon FILE]

  --synchronous, --asynchronous  Patroni's synchronous_mode is on, or off (drawn)
  --ttl                          that of Patroni (30); loop_wait and retry_timeout are a third of it, as in Patroni's defaults
  --nodes                        so many (2 or 3, drawn)
  --etcd3                        Patroni speaks etcd's newer protocol: before 3.0.3, one that was stopped may then take the lead
                                 back from the one that was promoted (its pull request 2689), on the timeline before
  --patience                     seconds for each event, and until all is healthy (60, but twice the ttl at least)

Prints a line for each act: when, until when the cluster was whole again, how long each host filed nothing (from the last photo
before to the first after, seen four times a second), how many records that were seen a new primary lacked, and which daemons have
ended by themselves. Exits with 1 if there was a violation, and prints what the daemons logged.
"""
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import commandline
import failover
import fleet
import house as houses
import postgres
from fleet_house import Fleet
from house import Failed

# Its own processes are those whose working directory is below its own. The end of standard input ends them.
GUARD = """
cat >/dev/null
for number in QUIT KILL KILL; do
    for process in /proc/[0-9]*; do
        case $(readlink "$process/cwd") in "$1"|"$1"/*) kill -$number "${process#/proc/}";; esac
    done
    sleep 0.3
done 2>/dev/null
rm -rf "$1"
"""
# Both refuse to run as root.
AS = ["setpriv", f"--reuid={houses.NOBODY}", f"--regid={houses.NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []
# What a primary has, behind its timeline; nothing of a standby.
FACTS = """SELECT left(pg_walfile_name(CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_lsn() END), 8);
    SELECT inbox, encode(sha256, 'hex') FROM photoinbox.photo WHERE NOT pg_is_in_recovery()"""
PATRONI = re.compile(r"[-0-9]+ [:0-9]+,[0-9]{3} ")


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in sockets]


class Process:
    """A program of the cluster in a directory of its own, with all that it starts."""

    def __init__(self, base, name, command):
        self.name, self.directory, self.command = name, os.path.join(base, name), command
        os.mkdir(self.directory)
        if AS:
            os.chown(self.directory, houses.NOBODY, houses.NOBODY)

    def start(self):
        with open(os.path.join(self.directory, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [*AS, *self.command], cwd=self.directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=0,
                env=houses.plain_environment() | {"HOME": self.directory, "PGCONNECT_TIMEOUT": "3"})

    @property
    def all(self):
        found = []
        for link in glob.glob("/proc/[0-9]*/cwd"):
            with contextlib.suppress(OSError):
                if (os.readlink(link) + "/").startswith(self.directory + "/"):
                    found.append(int(link.split("/")[2]))
        return found

    def kill(self):
        """Together with what it starts meanwhile."""
        while some := self.all:
            for number in some:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            self.process.poll()


class Node(Process):
    """Patroni with its PostgreSQL."""

    def __init__(self, cluster, name, ports, options):
        self.port = ports[0]
        self.file = os.path.join(cluster.directory, name, "patroni.yml")
        super().__init__(cluster.directory, name, ["patroni", self.file])
        third = options.ttl // 3
        hba = ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
        with open(self.file, "w", encoding="utf-8") as text:
            json.dump({
                "scope": "photos", "name": name, "etcd3" if options.etcd3 else "etcd": {"host": cluster.etcd_address},
                "restapi": {"listen": f"127.0.0.1:{ports[1]}", "connect_address": f"127.0.0.1:{ports[1]}"},
                "bootstrap": {
                    "dcs": {"ttl": options.ttl, "loop_wait": third, "retry_timeout": third,
                            "synchronous_mode": options.synchronous, "postgresql": {"use_pg_rewind": True}},
                    "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, "no-sync"]},
                "postgresql": {
                    "listen": f"127.0.0.1:{self.port}", "connect_address": f"127.0.0.1:{self.port}",
                    "bin_dir": os.path.dirname(postgres.INITDB), "data_dir": os.path.join(self.directory, "data"),
                    "pgpass": os.path.join(self.directory, "pgpass"), "pg_hba": hba,
                    "authentication": {"superuser": {"username": "tester"}, "replication": {"username": "tester"}},
                    # What it shares is in its directory, and goes with it.
                    "parameters": {"unix_socket_directories": self.directory, "fsync": "off",
                                   "dynamic_shared_memory_type": "mmap"}}}, text)

    def sql(self, text, database="postgres"):
        return subprocess.run([postgres.PSQL, "-XAtq", f"host={self.directory} port={self.port} user=tester dbname={database}",
                               "-c", text], capture_output=True, text=True, check=False)

    def tail(self, lines=20):
        """Of Patroni's own log."""
        with open(os.path.join(self.directory, "log"), encoding="utf-8", errors="backslashreplace") as text:
            return "".join([f"  {self.name}:\n", *["    " + line for line in text if PATRONI.match(line)][-lines:]])

    @property
    def follows(self):
        return self.sql("SELECT 1 FROM pg_stat_wal_receiver WHERE status = 'streaming'").stdout != ""


class Cluster:
    """Etcd and the nodes, for a fleet."""
    socket = ""

    def __init__(self, options, count):
        self.directory = tempfile.mkdtemp(prefix="photo-inbox-patroni-", dir=houses.default_base())
        self.is_synchronous = options.synchronous
        os.chmod(self.directory, 0o755)
        self.guard = subprocess.Popen(["/bin/sh", "-c", GUARD, "sh", self.directory], stdin=subprocess.PIPE, cwd="/",
                                      start_new_session=True)
        client, peer, *ports = free_ports(2 + 2 * count)
        self.etcd_address, client, peer = f"127.0.0.1:{client}", f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
        self.etcd = Process(self.directory, "etcd", [
            "etcd", "--enable-v2", "--data-dir", "data", "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"])
        self.nodes = [Node(self, f"n{number + 1}", ports[2 * number:][:2], options) for number in range(count)]
        self.etcd.start()
        for node in self.nodes:
            node.start()
        waiting = houses.Waiting("cluster with its standbys")
        while not self.is_whole():
            waiting.once(why=lambda: "no cluster:\n" + "".join(node.tail() for node in self.nodes))

    def is_whole(self):
        """Whether all follow one that takes writes, and, where that is so, wait for one of them."""
        state = "sync" if self.is_synchronous else "async"
        run = self.sql(f"SELECT bool_or(sync_state = '{state}') FROM pg_stat_replication", check=False)
        return run.stdout == "t\n" and sum(node.follows for node in self.nodes) == len(self.nodes) - 1

    def words(self, database, _=None):
        ports = [str(node.port) for node in self.nodes]
        return f"host={','.join(['127.0.0.1'] * len(ports))} port={','.join(ports)} user=tester dbname={database}"

    def sql(self, text, database="postgres", check=True):
        """On one that takes writes."""
        return subprocess.run([postgres.PSQL, "-XAtq", self.words(database) + " target_session_attrs=read-write "
                               "connect_timeout=3", "-c", text], capture_output=True, text=True, check=check)

    def create(self):
        self.sql("CREATE DATABASE house")
        return "house"

    def drop(self, _):
        """All of it."""
        self.guard.stdin.close()
        self.guard.wait()


class Run(failover.Round):
    """The acts, and what happens meanwhile."""

    def __init__(self, options):
        self.numbers = numbers = options.numbers
        self.cluster = Cluster(options, options.nodes)
        self.fleet = Fleet(self.cluster, 2, options.daemon)
        self.fleet.places.catalogue += b" target_session_attrs=read-write"
        self.pool, self.wrong, self.cut, self.is_over, self.beside, self.due = [], [], set(), threading.Event(), {}, {}
        self.told, self.pause, self.load = [], 1, self.photos(1 << 20)
        # What the leader had when it was last asked, and when each was first seen; how many records were lacking.
        self.led, self.highest, self.recorded, self.times, self.lacked, self.lacked_in_all = None, "", set(), {}, 0, 0
        self.outages = []
        self.acts = [self.switch_over, self.kill, self.stand_still, self.be_without_etcd]
        numbers.shuffle(self.acts)

    # --- what goes on all the while ---

    def until(self, what, is_true, seconds=None):
        """Waits for it; photos come meanwhile, and who leads and what is recorded there is looked at."""
        end = time.monotonic() + (seconds or houses.PATIENCE)
        while not is_true():
            if time.monotonic() > end:
                raise Failed(f"no {what} within {seconds or houses.PATIENCE:.0f} s\n"
                             + "".join(node.tail() for node in self.cluster.nodes))
            self.keep()
            if self.next_photo < time.monotonic():
                self.next_photo = time.monotonic() + self.numbers.expovariate(5)
                kind = self.numbers.random()
                # What was put in before.
                (self.put_damaged if kind < 0.03 else self.undo if kind < 0.06 else self.again if kind < 0.15 else
                 next(self.load))()
            if self.next_look < time.monotonic():
                self.next_look = time.monotonic() + 0.25
                self.ask()
            time.sleep(0.02)

    def go_on(self, seconds):
        end = time.monotonic() + seconds
        self.until("end", lambda: time.monotonic() > end, seconds + 1)

    def ask(self):
        """Of those that take writes the one with the highest timeline leads. What one of them had and none has now is lacking."""
        runs = [(node.sql(FACTS, self.fleet.database), node) for node in self.cluster.nodes]
        writable = [(run.stdout.split("\n")[:-1], node) for run, node in runs if run.returncode == 0 and run.stdout[0] != "\n"]
        self.led = max(((lines[0], node) for lines, node in writable), key=lambda one: one[0], default=None)
        if not self.led:
            return
        if self.led[0] < self.highest:
            self.told.append(f"Patroni has gone back to timeline {int(self.led[0], 16)} from {int(self.highest, 16)}")
        self.highest = self.led[0]
        recorded = {line for lines, _ in writable for line in lines[1:]}
        lacking, self.recorded = self.recorded - recorded, recorded
        self.lacked += len(lacking)
        if self.cluster.is_synchronous:
            self.wrong += [f"was recorded, and is missing where {self.led[1].name} leads: {line}" for line in lacking]
        for line in recorded:
            self.times.setdefault(line, time.monotonic())

    def watch(self):
        while not self.is_over.wait(1):
            self.wrong += self.fleet.seen()
            if self.wrong:
                return

    # --- the acts ---

    def switch_over(self, node):
        """patronictl switchover"""
        asked = subprocess.Popen([*AS, "patronictl", "-c", node.file, "switchover", "--leader", node.name, "--force"],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 env=houses.plain_environment() | {"HOME": node.directory}, cwd=node.directory)
        self.until("end of patronictl", lambda: asked.poll() is not None)
        text = asked.communicate()[0]
        if asked.returncode or "Successfully" not in text:
            raise Failed(f"patronictl: status {asked.returncode}: {text}")
        self.until_another_leads(node)

    def kill(self, node):
        """SIGKILL to the leader's node"""
        node.kill()
        self.until_another_leads(node)
        self.go_on(self.numbers.choice((0, 5, 15)))
        node.start()

    def stand_still(self, node):
        """SIGSTOP to the leader's Patroni"""
        node.process.send_signal(signal.SIGSTOP)
        self.until_another_leads(node)
        if self.numbers.random() < 0.5:
            # It goes on with the new primary, while the other host may be connected to the old one.
            self.begin_anew(self.fleet.hosts[0])
        self.go_on(self.numbers.choice((0, 3, 10)))
        node.process.send_signal(signal.SIGCONT)

    def be_without_etcd(self, _):
        """etcd is away"""
        etcd, is_killed = self.cluster.etcd, self.numbers.random() < 0.5
        os.kill(etcd.process.pid, signal.SIGKILL if is_killed else signal.SIGSTOP)
        self.until("end of the leader", lambda: self.led is None)
        self.go_on(self.numbers.choice((0, 5, 15)))
        if is_killed:
            etcd.process.wait()
            etcd.start()
        else:
            os.kill(etcd.process.pid, signal.SIGCONT)

    def until_another_leads(self, node):
        self.until("other leader", lambda: self.led and self.led[1] is not node)

    def do(self, act):
        """One act, until its end, and all file again."""
        self.until("whole cluster", self.cluster.is_whole)
        self.go_on(self.numbers.uniform(3, 6))
        self.ask()
        began, before, self.lacked = time.monotonic(), self.led, 0
        act(before[1])
        self.until("leader", lambda: self.led and self.led[0] > before[0])
        self.until("whole cluster", self.cluster.is_whole)
        whole = time.monotonic()
        self.until("photo of each host after it", lambda: all(moments[-1] > whole for moments in self.moments()))
        outages = [max(after - earlier for earlier, after in zip(moments, moments[1:]) if after > began)
                   for moments in self.moments()]
        self.outages += outages
        self.lacked_in_all += self.lacked
        if self.cluster.is_synchronous:
            self.wrong += self.told
        print(f"{began - self.began:5.0f} s: {act.__doc__}, {before[1].name}; {self.led[1].name} leads on timeline "
              f"{int(self.led[0], 16)}, all follow after {whole - began:.1f} s; nothing filed for "
              f"{' and '.join(f'{seconds:.1f} s' for seconds in outages)}; {self.lacked} records lacked"
              + "".join(f"; {line}" for line in self.told), flush=True)
        self.told = []

    def moments(self):
        """Of each host, when its photos were first seen."""
        return [[self.began] + sorted(when for line, when in self.times.items() if line.startswith(host.name + "|"))
                for host in self.fleet.hosts]

    def run(self):
        """The violations."""
        self.fleet.start()
        looker = threading.Thread(target=self.watch, daemon=True)
        looker.start()
        self.began = self.next_photo = self.next_look = time.monotonic()
        try:
            self.ask()
            for act in self.acts:
                self.do(act)
                if self.wrong:
                    break
            wrong = self.wait_healthy()
            if self.cluster.is_synchronous:
                self.wrong += self.told
        finally:
            self.is_over.set()
            looker.join()
        return self.wrong + (wrong or self.last_life())


def main():
    arguments = commandline.parser(__doc__, jobs=1)
    arguments.add_argument("--synchronous", action="store_true", default=None)
    arguments.add_argument("--asynchronous", dest="synchronous", action="store_false")
    arguments.add_argument("--ttl", type=int, default=30)
    arguments.add_argument("--nodes", type=int)
    arguments.add_argument("--etcd3", action="store_true")
    if missing := [name for name in ("patroni", "etcd") if not shutil.which(name)] or not postgres.INITDB and ["postgresql"]:
        print(f"skipped: needs {' and '.join(missing)} (packages postgresql, patroni, etcd-server)")
        return 0
    options = commandline.begin(arguments, "patroni")
    houses.PATIENCE = max(houses.PATIENCE, 2 * options.ttl)
    numbers = options.numbers = fleet.random.Random(options.seed)
    some, is_synchronous = numbers.choice((2, 3)), numbers.random() < 0.5
    options.nodes = options.nodes or some
    options.synchronous = is_synchronous if options.synchronous is None else options.synchronous
    began = time.monotonic()
    # Then it cleans up as after any other end.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    one = Run(options)
    try:
        wrong, log = fleet.judged(one.fleet, one.run)
        wrong = [line for line in one.wrong if line not in wrong] + wrong
        if wrong:
            print("\n".join(["VIOLATION:", *("  " + line for line in one.told + wrong[:20]), log]))
        print(f"{options.nodes} nodes, {'' if options.synchronous else 'a'}synchronous, ttl {options.ttl} s: "
              f"{len(one.acts)} acts, {len(one.fleet.drops)} files; longest without filing {max(one.outages, default=0):.1f} s; "
              f"{one.lacked_in_all} records that a new primary lacked; {len(wrong)} violations; "
              f"{time.monotonic() - began:.0f} s", flush=True)
        return 1 if wrong else 0
    finally:
        one.fleet.remove()


if __name__ == "__main__":
    sys.exit(main())
