#!/usr/bin/python3
"""journald and the daemon killed at random under load, as the service that a person installs, under a systemd that is
booted for that (scripts/systemd-box). systemd starts both again; nothing may be lost, doubled or left half done, and the
service must never be given up. Judged by the checker, which waits for rest in every second cycle, on average, and at the
end of each house.

usage: Campaigns/service.py [--cycles N] [--rest N] [--seed N] [--patience SECONDS] [--daemon FILE]

  --cycles  how many strikes (500)
  --rest    after so many a house is given up for a new one (25)

A strike, while photos and sets pour in, is SIGKILL to the daemon, to journald or to both, or journald stopped for a while
with SIGSTOP; then in half of the cases everything must be filed before it goes on. Needs root and namespaces; prints
`skipped: …` and ends with 77 where these are refused. Exits with 1 if there was a violation.
"""
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import checker
import commandline
import house as houses
from house import Failed, House, Waiting
from random_kill import Load, Violation, expect

UNIT, JOURNAL = "photoinboxd.service", "systemd-journald.service"
STATE = "/var/lib/photoinbox"
SCRIPTS = "/photo-inbox/Tests/ServiceTests/Scripts"
# systemd must restart them regardless of the number of kills.
FOR_EVER = "[Unit]\nStartLimitIntervalSec=0\n[Service]\nRestart=always\nRestartSec=0\n"
STRIKES = {"daemon": 4, "journald": 3, "both": 2, "journald stopped": 2}


def run(*words, check=True):
    return subprocess.run(words, check=check, stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout.strip()


def main_process(unit):
    """The unit's main process; 0 while there is none."""
    return int(run("systemctl", "show", "--value", "--property=MainPID", unit) or 0)


def strike(unit, number):
    """The process that was struck, if any."""
    if process := main_process(unit):
        try:
            os.kill(process, number)
        except ProcessLookupError:
            return 0
    return process


class Service:
    """The unit, with as much of a house's daemon as the house asks for: it has ended only when systemd has given it up."""

    def has_ended(self):
        return run("systemctl", "is-failed", UNIT, check=False) == "failed"

    def wait_active(self, but=0):
        waiting = Waiting(f"active {UNIT}", first=0.02)
        while not (main_process(UNIT) not in (0, but) and run("systemctl", "is-active", UNIT, check=False) == "active"):
            if self.has_ended():
                raise Violation("systemd has given the service up")
            waiting.once()


class ServiceHouse(House):
    """Directories of the service's user, its configuration, and a new catalogue."""

    def __init__(self):
        super().__init__("/bin/true", base="/srv")
        self.places = checker.Places(
            {"card": self.path("inbox")}, self.library, self.path("duplicates"), self.path("quarantine"), STATE,
            around=[self.path("canary")])
        self.manifest = checker.Manifest(around=checker.canary(self.places))
        for name in ("a", "b"):
            os.mkdir(self.path(f"inbox/{name}"))
        for path in (self.base, self.path("inbox"), self.path("inbox/a"), self.path("inbox/b"), self.library):
            shutil.chown(path, "_photoinbox", "_photoinbox")
        run("systemctl", "stop", UNIT)
        for file in pathlib.Path(STATE).iterdir():
            shutil.rmtree(file) if file.is_dir() else file.unlink()
        pathlib.Path("/etc/photoinbox/photoinbox.toml").write_text(
            f'library = "{self.library}"\n[inbox.card]\npath = "{self.path("inbox")}"\nquiet = "0s"\n'
            'patience = "1ms"\n[sets]\nwait = "50ms"\n[log]\nlevel = "debug"\n')
        run("systemctl", "start", UNIT)


def cycle(house, service, numbers, pool, counts):
    load = Load(house, random.Random(numbers.random()), pool)
    load.start()
    resumed = 0
    try:
        time.sleep(numbers.uniform(0, 0.5))
        kind = numbers.choices(list(STRIKES), list(STRIKES.values()))[0]
        struck = 0
        if kind in ("journald", "both"):
            counts["journald"] += strike(JOURNAL, signal.SIGKILL) > 0
        if kind in ("daemon", "both"):
            struck = strike(UNIT, signal.SIGKILL)
            counts["daemon"] += struck > 0
        if kind == "journald stopped":
            resumed = strike(JOURNAL, signal.SIGSTOP)
            counts["stopped"] += resumed > 0
            time.sleep(numbers.uniform(0, 0.5))
        load.is_over.set()
        load.join()
        service.wait_active(but=struck)
        if numbers.random() < 0.5 and not house.settle(service):
            raise Violation("systemd has given the service up")
    finally:
        load.is_over.set()
        load.join()
        if resumed:
            os.kill(resumed, signal.SIGCONT)
    counts["cycles"] += 1


def inside(options):
    """In the booted systemd, as root."""
    subprocess.run(["bash", "-c", f"source {SCRIPTS}/lib.sh; install_service"], check=True, stdout=subprocess.DEVNULL)
    for unit in (UNIT, JOURNAL):
        directory = pathlib.Path(f"/etc/systemd/system/{unit}.d")
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "campaign.conf").write_text(FOR_EVER)
    run("systemctl", "daemon-reload")
    service, begin = Service(), time.monotonic()
    counts = dict.fromkeys(("cycles", "daemon", "journald", "stopped", "files"), 0)

    def so_far():
        return (f"{counts['cycles']} cycles: {counts['daemon']} kills of the daemon, {counts['journald']} of journald, "
                f"{counts['stopped']} times journald stopped, {counts['files']} files, {time.monotonic() - begin:.0f} s")

    numbers = random.Random(options.seed)
    while counts["cycles"] < options.cycles:
        house, pool = ServiceHouse(), []
        try:
            service.wait_active()
            for _ in range(min(options.rest, options.cycles - counts["cycles"])):
                cycle(house, service, numbers, pool, counts)
            if not house.settle(service):
                raise Violation("systemd has given the service up")
            run("systemctl", "stop", UNIT)
            expect(house.violations())
            if run("systemctl", "show", "--value", "--property=Result", UNIT) != "success":
                raise Violation("it did not end in good order")
        except (Violation, Failed) as violation:
            print(f"VIOLATION after {so_far()}:\n  {violation}", flush=True)
            print(run("journalctl", "--no-pager", "--lines=80", check=False), flush=True)
            return 1
        finally:
            counts["files"] += house.number
            house.remove()
        print(so_far(), flush=True)
    # After all strikes at journald the daemon must still be able to log.
    if not run("journalctl", "--quiet", "--output=cat", "--lines=1", "MESSAGE_ID=af896049368c4fe0b1773f88be80e13f"):
        print("VIOLATION: the journal does not have the daemon's last words")
        return 1
    print(f"0 violations in {so_far()}")
    return 0


def main():
    arguments = commandline.parser(__doc__, jobs=1)
    arguments.add_argument("--cycles", type=int, default=500)
    arguments.add_argument("--rest", type=int, default=25)
    arguments.add_argument("--inside", action="store_true")
    options = arguments.parse_args()
    houses.PATIENCE = options.patience
    if options.inside:
        return inside(options)
    programs = pathlib.Path(houses.program(given=options.daemon)).parent
    print(f"service: seed {options.seed}, {programs}/photoinboxd", flush=True)
    # The box has a time limit; a cycle takes a second or two on an idle machine.
    return subprocess.run(
        [houses.ROOT / "scripts/systemd-box", "--show", f"{houses.ROOT}:/photo-inbox", "--show",
         f"{programs}:/photo-inbox-built", "--timeout", str(300 + 30 * options.cycles), "/usr/bin/python3", "-B",
         "/photo-inbox/Campaigns/service.py", "--inside", "--cycles", str(options.cycles), "--rest", str(options.rest),
         "--seed", str(options.seed), "--patience", str(options.patience)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
