"""A PostgreSQL server of a campaign or a benchmark, on a socket in a directory of its own, with a database for each house. It
ends with the program, however that ends. In a campaign's nothing is durable. Or two of them, of which one follows the other."""
import contextlib
import glob
import itertools
import os
import signal
import subprocess
import tempfile

INITDB = max(glob.glob("/usr/lib/postgresql/[1-3][0-9]/bin/initdb"), default=None)
# Not the one in the path of programs, a script that takes five times as long to start.
PSQL = os.path.join(os.path.dirname(INITDB), "psql") if INITDB else "psql"

# PostgreSQL refuses to run as root.
LINES = """
set -e; cd "$1"; base=$1 programs=$2 as=; shift 2
if [ "$(id -u)" = 0 ]; then chown nobody .; as="setpriv --reuid=nobody --regid=nogroup --clear-groups"; fi
first=
while [ "$1" != -- ]; do first="$first $1"; shift; done
shift
$as "$programs"/${first# } --no-sync -U tester -D data >log 2>&1 || { cat log >&2; rm -rf "$base"; exit 1; }
# It is begun again whenever it ends, but for while the file "down" is there.
while [ ! -e over ]; do
    $as "$programs/postgres" -D data -k "$base" -c listen_addresses= -c max_connections=300 "$@" >>log 2>&1 </dev/null || :
    while [ -e down ]; do sleep 0.05; done
done &
cat >/dev/null; touch over; rm -f down; kill -QUIT $(head -n 1 data/postmaster.pid 2>/dev/null) 2>/dev/null || :; wait; rm -rf "$base"
"""
NEW = ["initdb", "-A", "trust", "-E", "UTF8", "--locale=C"]


class Server:
    def __init__(self, base, waiting, primary=None, settings=("fsync=off",)):
        """In a directory below `base`, when `waiting` lets it answer: a new one, or a standby of another."""
        self.directory = tempfile.mkdtemp(prefix="photo-inbox-postgres-", dir=base)
        self.numbers = itertools.count(1)
        # The end of its standard input ends it.
        how = ["pg_basebackup", "-c", "fast", "-R", "-h", primary.directory] if primary else NEW
        words = [word for setting in settings for word in ("-c", setting)]
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", LINES, "sh", self.directory, os.path.dirname(INITDB), *how, "--", *words],
            stdin=subprocess.PIPE, start_new_session=True)
        while self.sql("", check=False).returncode:
            if self.process.poll() is not None:
                raise SystemExit("PostgreSQL does not start")
            waiting.once()

    @property
    def socket(self):
        return os.path.join(self.directory, ".s.PGSQL.5432")

    def words(self, database, directory=None):
        """libpq's words for a database, through the socket in another directory."""
        return f"host={directory or self.directory} user=tester dbname={database}"

    def sql(self, text, database="postgres", check=True):
        return subprocess.run([PSQL, "-XAtq", self.words(database), "-c", text], capture_output=True, text=True, check=check)

    def crash(self, number=signal.SIGQUIT):
        """Ends it as after `pg_ctl stop -m immediate`, if it runs, or kills it; it stays away until `come_back`."""
        with open(os.path.join(self.directory, "down"), "w", encoding="ascii"):
            pass
        with (contextlib.suppress(FileNotFoundError, ProcessLookupError),
              open(os.path.join(self.directory, "data/postmaster.pid"), encoding="ascii") as lines):
            os.kill(int(next(lines)), number)

    def come_back(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.directory, "down"))

    def create(self, like="template1"):
        """A new database, or one with all that another has; its name."""
        name = f"house{next(self.numbers)}"
        self.sql(f"CREATE DATABASE {name} TEMPLATE {like}")
        return name

    def drop(self, name):
        self.sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


class Pair:
    """A primary and its asynchronous standby, which programs are given together, in that order or the other one."""

    def __init__(self, base, waiting, is_standby_first=False):
        self.primary = Server(base, waiting)
        self.standby = Server(base, waiting, self.primary)
        self.leading = self.primary
        self.servers = [self.primary, self.standby][::-1 if is_standby_first else 1]
        while not self.sender:
            waiting.once()

    @property
    def sender(self):
        """The process that sends what is committed to the standby; None while it does not."""
        found = self.primary.sql("SELECT pid FROM pg_stat_replication WHERE state = 'streaming'").stdout.split()
        return int(found[0]) if found else None

    @property
    def socket(self):
        return self.leading.socket

    def words(self, database, directory=None):
        """libpq's words for programs, whatever the directory."""
        return self.leading.words(database, ",".join(server.directory for server in self.servers))

    def sql(self, *arguments, **options):
        return self.leading.sql(*arguments, **options)

    def create(self):
        return self.leading.create()

    def hold_back(self):
        """From now on the standby gets nothing more."""
        self.stopped = self.sender
        os.kill(self.stopped, signal.SIGSTOP)

    def fail(self, number):
        """The primary is no more."""
        self.primary.crash(number)
        # Else the next one would wait for its end.
        os.kill(self.stopped, signal.SIGKILL)

    def promote(self):
        self.standby.sql("SELECT pg_promote()")
        self.leading = self.standby

    def drop(self, _):
        """Both, with all that is in them."""
        for server in self.servers:
            server.process.stdin.close()
            server.process.wait()
