#!/usr/bin/python3
"""Photos are filed over NFS, in a virtual machine that is the server too: the daemon has the library on a mount of it, and in every
second house its inbox, into which others put photos on the server. It is killed at random moments, as in random_kill.py. Then
there are rounds of several hosts, as in fleet.py, each with a mount of its own. Meanwhile the server stops and comes back. What there
is, is looked up on the server.

usage: Campaigns/nfs.py [--trials N] [--rest N] [--rounds N] [--hosts N] [--version 4.2|4.1|4.0|3]... [--calm] [--seed N]
                        [--patience SECONDS] [--accelerator NAME] [--seconds N] [--daemon FILE]

  --trials       kills with each version of the protocol (20)
  --rest         after so many a house is given up for a new one (5)
  --rounds       of so many --hosts (2) with each version (5)
  --version      of the protocol; may be repeated (all)
  --calm         the server stays
  --accelerator  of qemu: kvm is fast, where it works (tcg)
  --seconds      for all (3,600)

Needs root, PostgreSQL, the packages qemu-system-x86 and qemu-system-common of Debian 12, busybox-static, kmod, cpio and
nfs-kernel-server, and Debian's kernel, which it fetches. Exits with 1 if there was a violation.
"""
import contextlib
import os
import random
import shlex
import shutil
import subprocess
import sys
import threading
import time

import commandline
import fleet
import fleet_house
import house as houses
import jobs
import machine
import random_kill
from house import Failed, House

HERE = os.path.dirname(os.path.abspath(__file__))
VERSIONS = ("4.2", "4.1", "4.0", "3")
MODULES = ("nfsd", "nfsv3", "nfsv4")
# The library and the inbox are below it: for the daemon a mount, for all others the server's own directory.
SHARED, SERVED = "/shared", "/served"
ARGUMENTS = (*random_kill.ARGUMENTS, "--set", "watch.fastest=1s", "--set", "watch.slowest=2s")
# The machine is emulated, and a server that was stopped lets nobody in for some seconds.
SLOWNESS, GRACE = 8, 10
# Until a kill, in seconds: what came over NFS is filed when it was unchanged for 30.
LONGEST, LONGEST_OVER_NFS = 4, 45
# An emulated daemon files some five a second.
MOST = 80
BEGUN = time.monotonic()
# Held while the server is away, and by who needs it: a mount is not tried again.
SERVER = threading.Lock()


def sh(text):
    subprocess.run(["/bin/sh", "-ec", text], check=True)


def serve():
    """A server of NFS on the machine's disk, which waits a short while after each start for those that had files open."""
    sh(f"""mkfs.ext4 -F -q /dev/vda; mkdir -p {SERVED} {SHARED}; mount /dev/vda {SERVED}; mount --bind {SERVED} {SHARED}
        mount --make-rprivate /; mount -t nfsd nfsd /proc/fs/nfsd; mount -t tmpfs tmpfs /var/lib/nfs
        cd /var/lib/nfs; mkdir rpc_pipefs v4recovery nfsdcld sm sm.bak; touch etab rmtab state
        mount -t rpc_pipefs sunrpc rpc_pipefs
        echo {GRACE} > /proc/fs/nfsd/nfsv4gracetime; echo {GRACE} > /proc/fs/nfsd/nfsv4leasetime
        nfsdcld; rpcbind; exportfs -o rw,sync,no_subtree_check,no_root_squash,fsid=0 '*:{SERVED}'; rpc.mountd; rpc.nfsd 4""")


def client(name, version, places):
    """A program that is the daemon with mounts of its own, path → what of the server's; `nosharecache`, since a kernel else
    knows that they are one."""
    space, own, program = f"/run/{name}.mounts", f"/run/{name}", houses.program()
    root = SERVED if version == "3" else ""
    lines = [f"mount -t nfs -o vers={version},hard,nolock,nosharecache 127.0.0.1:{root}/{below} {path}"
             for path, below in places.items()]
    with SERVER:
        sh(f"umount -q {space} || :; touch {space}; unshare --mount={space} --propagation private sh -ec {shlex.quote('; '.join(lines))}")
    os.makedirs(own, exist_ok=True)
    with open(f"{own}/photoinboxd", "w", encoding="utf-8") as script:
        script.write(f'#!/bin/sh\nexec nsenter --mount={space} {program} "$@"\n')
    os.chmod(f"{own}/photoinboxd", 0o755)
    with contextlib.suppress(FileExistsError):
        os.symlink(os.path.join(os.path.dirname(program), "photoinbox"), f"{own}/photoinbox")
    return f"{own}/photoinboxd"


class SharedHouse(House):
    """Its library is on the server, and its inbox too if it `receives` there."""

    def __init__(self, program, receives):
        self.receives = receives
        super().__init__(program, library_base=SHARED, arguments=ARGUMENTS)
        self.places.are_probed = True

    def path(self, name):
        return os.path.join(self.far if self.receives and name in ("inbox", "outside") else self.base, name)


class SharedFleet(fleet_house.Fleet):
    """Each host has a mount of the library of its own, and of what is set aside."""
    shared = ("library", "aside")

    def share(self):
        self.below = os.path.basename(self.base)
        for name in self.shared:
            sh(f"mkdir -p {SERVED}/{self.below}/{name}; mount --bind {SERVED}/{self.below}/{name} {self.base}/{name}")

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        places = {f"{self.base}/{name}": f"{self.below}/{name}" for name in self.shared}
        for host in self.hosts:
            host.program = client(host.name, SharedFleet.version, places)
        self.places.are_probed = True

    def remove(self):
        for host in self.hosts:
            host.end()
            sh(f"umount -q /run/{host.name}.mounts || :")
        for name in self.shared:
            sh(f"umount {self.base}/{name}")
        super().remove()


class Outages(threading.Thread):
    """The server is away now and then, for a moment."""

    def __init__(self, numbers):
        super().__init__(daemon=True)
        self.numbers, self.is_over, self.count = numbers, threading.Event(), 0

    def run(self):
        # Each is followed by a time in which nothing new is opened.
        while not self.is_over.wait(self.numbers.uniform(GRACE, 4 * GRACE)):
            self.count += 1
            with SERVER:
                sh("rpc.nfsd 0")
                self.is_over.wait(self.numbers.choice((0, 0.5, 2)))
                sh("rpc.nfsd 4")

    def end(self):
        self.is_over.set()
        self.join()


def kills(version, options, outages):
    """One daemon; how many violations."""
    program = client("alone", version, {SHARED: ""})
    counts, number, numbers = jobs.Counts("kills", "amid", "files", "wrong"), 0, random.Random(f"{options.seed} {version}")
    while counts.kills < options.trials and not counts.wrong:
        number += 1
        house = SharedHouse(program, receives=number % 2 == 0)
        try:
            random_kill.campaign(house, random.Random(numbers.random()), options, counts,
                                 longest=LONGEST_OVER_NFS if house.receives else LONGEST, most=MOST)
        except (random_kill.Violation, Failed, RuntimeError) as violation:
            counts.add(wrong=1)
            print(f"VIOLATION with NFS {version} in house {number}:\n  {violation}\n{house.tail(80)}", flush=True)
        finally:
            counts.add(files=house.number)
            house.remove()
        tell(version, f"{counts.kills} kills, {counts.amid} amid a filing, {counts.files} files", outages, counts)
    return counts.wrong


def rounds(version, options, outages):
    """Several hosts, as in fleet.py; in how many were violations."""
    SharedFleet.version, fleet.Fleet = version, SharedFleet
    counts = jobs.Counts("rounds", "files", "wrong")
    for number in range(options.rounds):
        if not counts.wrong:
            options.round = number
            fleet.rounds(0, options, counts)
            tell(version, f"{counts.rounds} rounds of {options.hosts} hosts, {counts.files} files", outages, counts)
    return counts.wrong


def tell(version, words, outages, counts):
    print(f"NFS {version}: {words}, {outages.count} outages, {counts.wrong} violations, {time.monotonic() - BEGUN:.0f} s", flush=True)


def inside(options):
    """In the machine."""
    serve()
    wrong = 0
    for version in options.version or VERSIONS:
        outages = Outages(random.Random(f"{options.seed} {version}"))
        if not options.calm:
            outages.start()
        wrong += kills(version, options, outages) + rounds(version, options, outages)
        if not options.calm:
            outages.end()
    return 1 if wrong else 0


def main():
    arguments = commandline.parser(__doc__, jobs=1)
    arguments.add_argument("--trials", type=int, default=20)
    arguments.add_argument("--rest", type=int, default=5)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--hosts", type=int, default=2)
    arguments.add_argument("--version", action="append", choices=VERSIONS)
    arguments.add_argument("--calm", action="store_true")
    arguments.add_argument("--accelerator", default="tcg")
    arguments.add_argument("--seconds", type=int, default=3600)
    arguments.add_argument("--inside", action="store_true")
    arguments.set_defaults(first=False)
    if "--inside" in sys.argv:
        options = commandline.begin(arguments, "NFS")
        return inside(options)
    why = machine.why_not() or (None if shutil.which("rpc.nfsd") else "needs the package nfs-kernel-server")
    if why:
        print(f"skipped: {why}")
        return 77
    options = commandline.begin(arguments, "NFS")
    place = os.environ.get("PHOTOINBOX_CAMPAIGN_TOOLS", houses.ROOT / ".build/campaigns")
    own = machine.Machine(os.path.join(place, "machine"), MODULES, accelerator=options.accelerator)
    words = [*sys.argv[1:], "--inside", "--seed", str(options.seed), "--patience", str(options.patience * SLOWNESS)]
    status = own.run(
        ["env", f"PHOTOINBOX_PROGRAMS={os.path.dirname(options.daemon)}", f"PHOTOINBOX_CAMPAIGN_SLOWNESS={SLOWNESS}", "python3", "-B",
         f"{HERE}/nfs.py", *words], options.seconds)
    if status is None:
        print("the machine has ended, or had not in time")
    return 1 if status is None else status


if __name__ == "__main__":
    sys.exit(main())
