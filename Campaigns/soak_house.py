"""A house with all features and their clients; for soak.py. Run nothing here by itself."""
import collections
import contextlib
import datetime
import http.server
import os
import pathlib
import pty
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import checker
import house as houses
from house import Failed, House, cut_jpeg, jpeg, live_photo, raw_and_jpeg

REST, CLIENTS = 50, 21


def dated(content, number):
    """The same photo with another date; forty a day."""
    day = datetime.date(2001, 1, 1) + datetime.timedelta(number // 40)
    return content.replace(b"2024:01:31", day.strftime("%Y:%m:%d").encode())


def hash_of(content):
    return checker.hashlib.sha256(content).hexdigest()


def drain(screen):
    with contextlib.suppress(OSError):
        while os.read(screen, 65536):
            pass


class Web(http.server.BaseHTTPRequestHandler):
    """Sends the photo with the number in the path."""

    def do_GET(self):
        content = link_photo(int(self.path.strip("/").removesuffix(".jpg")))
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *words):
        pass


def link_photo(number):
    return dated(jpeg(f"link {number}"), number)


class Soak(House):
    """A house with all features and their clients."""

    def __init__(self, options):
        super().__init__(options.daemon, base=options.base)
        self.numbers, self.plant = random.Random(options.seed), options.plant
        for name in ("guest", "card", "quarantine", "duplicates"):
            os.mkdir(self.path(name))
        self.places.inboxes["guest"] = os.fsencode(self.path("guest"))
        self.tool = str(pathlib.Path(self.program).with_name("photoinbox"))
        self.web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web)
        threading.Thread(target=self.web.serve_forever, daemon=True).start()
        self.lone, self.cut, self.asked, self.wrong = [], collections.deque(), [], []
        self.count, self.late, self.statuses, self.followers, self.crowd = 0, {}, collections.Counter(), [], None
        self.questions = 0

    def configure(self, with_guest, broken=False):
        """Writes the configuration of soak.toml, in half of each minute without its last inbox."""
        text = (houses.HERE / "soak.toml").read_text(encoding="utf-8").replace("@", self.base)
        text = text if with_guest else text.split("# What follows")[0]
        pathlib.Path(self.path("photoinbox.toml")).write_text(text + ("[inbox\n" if broken else ""), encoding="utf-8")

    def begin(self):
        self.configure(with_guest=False)
        os.makedirs(self.path("st"), exist_ok=True)
        # Under a service manager, hooks and downloads would run in other units.
        self.daemon = houses.Daemon(self, ["env", "-u", "NOTIFY_SOCKET", self.program, "--config",
                                           self.path("photoinbox.toml"), "--log", "console"])
        if not self.daemon.wait_for("ready daemon", lambda: " ready:" in self.tail(1_000)):
            raise Failed("it ended by itself")
        follow = [self.tool, "tail", "--json", "--config", self.path("photoinbox.toml")]
        # The second one is never read.
        for out in (subprocess.DEVNULL, subprocess.PIPE):
            self.followers.append(subprocess.Popen(follow, stdin=subprocess.DEVNULL, stdout=out))
        screen, terminal = pty.openpty()
        self.followers.append(subprocess.Popen(
            [self.tool, "top", "--config", self.path("photoinbox.toml")], stdin=terminal, stdout=terminal,
            stderr=terminal, env={**os.environ, "TERM": "xterm"}))
        os.close(terminal)
        threading.Thread(target=drain, args=(screen,), daemon=True).start()

    def fill(self, count):
        """Photos at once, a hundred at a time: what grows to a bound with the catalogue (SQLite's cache has 2 MB) is there
        before anything is judged."""
        for _ in range(count // 100):
            for _ in range(100):
                self.photo(size=6_000)
            waiting = houses.Waiting("empty inbox")
            while os.listdir(self.path("inbox")):
                waiting.once()

    # --- arrivals and clients ---

    def photo(self, where="", size=None):
        """A new single photo."""
        self.count += 1
        content = dated(jpeg(f"lone {self.count}", size or self.numbers.choice((6_000, 12_000, 40_000))), self.count)
        self.drop(f"{where}IMG_{self.count:06}.JPG", content, ends=["library", "duplicates"])
        self.lone.append(content)

    def again(self):
        """A copy of a photo that is never undone."""
        if len(self.lone) > 40:
            self.count += 1
            self.drop(f"AGAIN_{self.count:06}.JPG", self.numbers.choice(self.lone[:-30:2]), ends=["library", "duplicates"])

    def bring_set(self, make, later=()):
        self.count += 1
        members = make(f"set {self.count}")
        stem = f"SET_{self.count:06}"
        self.drop_set(stem, members, [ending for ending in members if ending not in later])
        self.later(7, lambda: self.drop_set(stem, members, later) if later else None)

    def broken(self):
        """One truncated photo that stays so, one that is removed while it waits, one that is completed."""
        self.count += 1
        content = cut_jpeg(f"cut {self.count}")
        self.drop(f"CUT_{self.count:06}.JPG", content, ends=["quarantine", "library"])
        self.cut.append(hash_of(content))
        away = pathlib.Path(self.path(f"inbox/AWAY_{self.count:06}.JPG"))
        away.write_bytes(cut_jpeg(f"away {self.count}"))
        self.later(5, lambda: away.unlink(missing_ok=True))
        half, content = self.path(f"inbox/HALF_{self.count:06}.JPG"), dated(jpeg(f"half {self.count}"), self.count)
        self.manifest.add(content, ends=["library"])
        pathlib.Path(half).write_bytes(content[:3_000])

        def complete():
            with open(half, "ab") as file:
                file.write(content[3_000:])
        self.later(6, complete)

    def links(self):
        first, self.count = self.count, self.count + 3
        text = "".join(f"http://127.0.0.1:{self.web.server_port}/{number}.jpg\n" for number in range(first, self.count))
        for number in range(first, self.count):
            self.manifest.add(link_photo(number), ends=["library"])
        self.drop(f"LINKS_{first:06}.links", text.encode(), stays="may", ends=["inbox"])

    def bring_card(self, minute):
        """Four new photos on a card, which is sometimes emptied."""
        card = pathlib.Path(self.path("card/DCIM/100SOAK"))
        if minute % 5 == 0 and not any(words[0] == "import" for words, _, _, _ in self.asked):
            shutil.rmtree(self.path("card/DCIM"), ignore_errors=True)
        card.mkdir(parents=True, exist_ok=True)
        for _ in range(4):
            self.count += 1
            content = dated(jpeg(f"card {self.count}"), self.count)
            self.manifest.add(content, ends=["library"])
            (card / f"CARD_{self.count:06}.JPG").write_bytes(content)
        self.ask("import", "--inbox", "inbox", *(["--move"] if minute % 4 == 3 else []), self.path("card"))

    def request(self, minute):
        """Takes a photo back; of those that were set aside one is released, one filed as it is, one thrown away."""
        if len(self.lone) > 100:
            at = len(self.lone) - 61
            self.ask("undo", hash_of(self.lone[at - (at + 1) % 2]), right=(0,))
        if len(self.cut) > 2 and (number := self.quarantined(self.cut[0])):
            self.cut.popleft()
            self.ask(*(("release",), ("release", "--as-is"), ("discard", "--yes"))[minute % 3], number, right=(0,))

    def quarantined(self, digest):
        """The operation that set this content aside, if any."""
        file = f"file:{os.fsdecode(self.places.catalogue)}?mode=ro"
        with contextlib.closing(sqlite3.connect(file, uri=True)) as catalogue:
            rows = catalogue.execute(
                "SELECT id FROM outcome WHERE outcome = 'quarantined' AND sha256 = ?", (bytes.fromhex(digest),))
            return next((str(number) for number, in rows), None)

    def question(self, minute, second):
        photo = hash_of(self.numbers.choice(self.lone))
        table = self.path("own/table.csv")
        pathlib.Path(table).write_text(f"sha256,title\n{photo},soak {minute}\n", encoding="utf-8")
        if minute % 5 == 2 and second >= 39:  # the configuration is invalid then
            return
        questions = (
            ("status",), ("status", "--json"), ("top", "--once", "--json"), ("list",), ("import-csv", table),
            ("list", "--outcome", "quarantined"), ("search", "soak"), ("show", photo), ("stats",), ("metrics",), ("config",),
            ("explain", f"inbox/IMG_{len(self.lone):06}.JPG"), ("tail", "--no-follow"), ("retry", "--all"), ("rescan",),
            ("export-csv",), ("dump",), ("thumbs",), ("reload", "--dry-run"))
        self.ask(*questions[self.questions % len(questions)])
        self.questions += 1

    def reload(self, with_guest, broken=False):
        self.configure(with_guest, broken)
        self.ask("reload", right=(78,) if broken else (0,))
        if broken:
            self.later(3, lambda: self.configure(with_guest))

    def ask(self, *words, right=(0, 3, 4, 75)):
        process = subprocess.Popen([self.tool, *words, "--config", self.path("photoinbox.toml")],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.asked.append((words, process, right, time.monotonic()))

    def collect(self):
        """Checks the received answers."""
        for each in list(self.asked):
            words, process, right, began = each
            if process.poll() is None and time.monotonic() - began < 5 * houses.PATIENCE:
                continue
            self.asked.remove(each)
            if process.poll() is None:
                process.kill()
            said = process.communicate()[1].decode(errors="backslashreplace").strip()
            self.statuses[f"{words[0]} {process.returncode}"] += 1
            if process.returncode not in right:
                self.wrong.append(f"{' '.join(words)}: status {process.returncode}, {said}")

    def said(self, *words):
        """Waits for an answer and returns its content."""
        waiting = houses.Waiting(f"answer to {words[0]}")
        while True:
            answer = subprocess.run([self.tool, *words, "--config", self.path("photoinbox.toml")], check=False,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            if answer.returncode == 0:
                return answer.stdout
            waiting.once()

    def invite(self):
        self.crowd = subprocess.Popen(
            [sys.executable, "-B", str(houses.ROOT / "Benchmarks/crowd.py"), self.path("st/run/control"), str(CLIENTS)],
            stdout=subprocess.DEVNULL)

    def send_away(self):
        if self.crowd:
            self.crowd.terminate()
            self.crowd.wait()
            self.crowd = None

    def later(self, seconds, act):
        self.late.setdefault(self.second + seconds, []).append(act)

    def command(self, word):
        # The FIFO is not read during a reload, which takes long on a busy machine.
        with contextlib.suppress(OSError):
            pipe = os.open(self.path("own/commands"), os.O_WRONLY | os.O_NONBLOCK)
            os.write(pipe, word + b"\n")
            os.close(pipe)

    def act(self, minute, second):
        """The actions of this second of a minute."""
        self.second = second
        if self.daemon.has_ended():
            raise Failed("it ended by itself")
        for act in self.late.pop(second, ()):
            act()
        if second < 46 and second % 2 == 0:
            self.photo(f"album {minute}/" if second % 6 == 0 else "")
        if second < 46 and second % 3 == 0:
            self.question(minute, second)
        for act in {
            2: [self.invite, lambda: self.reload(with_guest=True)],
            4: [lambda: self.bring_set(raw_and_jpeg)], 8: [lambda: self.bring_set(live_photo)],
            6: [self.broken], 7: [self.again], 10: [lambda: os.kill(self.daemon.own_pid, signal.SIGUSR1)],
            11: [self.links], 14: [lambda: self.photo("../guest/")], 16: [lambda: self.photo("../guest/")],
            17: [self.again], 20: [lambda: self.bring_card(minute)],
            22: [lambda: self.bring_set(raw_and_jpeg, later=[".xmp"])],
            25: [lambda: self.command(b"reconcile")], 27: [lambda: self.request(minute)],
            30: [lambda: self.ask("pause", "inbox")], 33: [lambda: self.ask("resume", "inbox")],
            34: [lambda: self.reload(with_guest=False)],
            40: [lambda: self.reload(with_guest=False, broken=True)] if minute % 5 == 2 else [],
            41: [lambda: self.ask("verify")] if minute % 10 == 9 else [],
            44: [self.send_away, lambda: self.ask("import", "--inbox", "inbox", self.path("card"))],
        }.get(second, []):
            act()
        if second == REST and self.plant:
            os.makedirs(self.path(f"inbox/planted/{minute}"))
        if second >= REST:
            with contextlib.suppress(OSError):
                os.rmdir(self.path(f"inbox/album {minute}"))

    # --- the end ---

    def violations(self, crashed=False, rows=None):
        """The checker's violations, after accounting for requests."""
        rows, manifest = checker.Rows(self.places), checker.Manifest(dict(self.manifest.photos), self.manifest.sets,
                                                                     self.manifest.around)
        with checker.catalogue_copy(self.places) as catalogue:
            requests = [dict(row) for row in catalogue.execute(
                "SELECT * FROM request WHERE step IN ('done', 'expired') AND what IN ('undo', 'release', 'discard')")]
        wrong = []
        for request in requests:
            if request["what"] != "undo":
                rows.outcomes = [row for row in rows.outcomes if row["id"] != request["outcome_id"]]
            if request["what"] != "release":
                file = os.path.join(bytes(request["destination_root"]), bytes(request["destination_path"]))
                digest, expected = bytes(request["sha256"]).hex(), request["step"] == "done"
                manifest.photos.pop(digest, None)
                if (checker.file_hash(file) == digest) != expected:
                    wrong.append(f"{request['what']} {digest[:12]}: {request['step']}, which {checker.shown(file)} belies")
        told = pathlib.Path(self.path("own/told")).read_text(encoding="utf-8")
        wrong += [f"no hook was told of {row['outcome']} {checker.shown(row['path'])}" for row in rows.outcomes
                  if row["outcome"] == "filed" and bytes(row["sha256"]).hex() not in told]
        return wrong + checker.check(self.places, manifest, rows=rows)

    def end(self):
        """Resolves waiting files; then each photo must have one outcome."""
        self.send_away()
        for follower in self.followers:
            follower.terminate()
            try:
                follower.wait(houses.PATIENCE)
            except subprocess.TimeoutExpired:
                self.wrong.append(f"{' '.join(follower.args[:2])} is not ended by SIGTERM")
                follower.kill()
        self.reload(with_guest=True)
        while self.asked:
            self.collect()
            time.sleep(0.1)
        if not self.settle(self.daemon, 3 * houses.PATIENCE) or not self.wait_idle(self.daemon):
            raise Failed("it ended by itself")
        self.daemon.stop()
        return collections.Counter(row["outcome"] for row in checker.Rows(self.places).outcomes)

    def abandon(self):
        """Ends all processes."""
        for process in [*self.followers, *(each[1] for each in self.asked), *filter(None, [self.crowd])]:
            process.kill()
            process.wait()
        self.web.shutdown()
        if self.daemon:
            self.daemon.abandon()
