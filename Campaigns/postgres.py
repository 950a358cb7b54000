"""A PostgreSQL server of a campaign, on a socket in a directory of its own, with a database for each house. It ends with
the campaign, however that ends. Nothing is durable in it."""
import contextlib
import glob
import itertools
import os
import signal
import subprocess
import tempfile

INITDB = max(glob.glob("/usr/lib/postgresql/[1-3][0-9]/bin/initdb"), default=None)
# Debian's /usr/bin/psql is a script in Perl, which takes longer than what is asked.
PSQL = os.path.join(os.path.dirname(INITDB), "psql") if INITDB else "psql"

# PostgreSQL refuses to run as root.
LINES = """
set -e; cd "$1"; as=
if [ "$(id -u)" = 0 ]; then chown nobody .; as="setpriv --reuid=nobody --regid=nogroup --clear-groups"; fi
$as "$2" --no-sync -A trust -U tester -E UTF8 --locale=C -D data >log 2>&1 || { cat log >&2; rm -rf "$1"; exit 1; }
# It is begun again whenever it ends, but for while the file "down" is there.
while [ ! -e over ]; do
    $as "${2%initdb}postgres" -D data -k "$1" -c listen_addresses= -c fsync=off -c max_connections=300 >>log 2>&1 </dev/null || :
    while [ -e down ]; do sleep 0.05; done
done &
cat >/dev/null; touch over; rm -f down; kill -QUIT $(head -n 1 data/postmaster.pid) || :; wait; rm -rf "$1"
"""


class Server:
    def __init__(self, base, waiting):
        """In a directory below `base`, when `waiting` lets it answer."""
        self.directory = tempfile.mkdtemp(prefix="photo-inbox-postgres-", dir=base)
        self.numbers = itertools.count(1)
        # The end of its standard input ends it.
        self.process = subprocess.Popen(["/bin/sh", "-c", LINES, "sh", self.directory, INITDB], stdin=subprocess.PIPE,
                                        start_new_session=True)
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

    def crash(self):
        """Ends it as after `pg_ctl stop -m immediate`, if it runs; it stays away until `come_back`."""
        with open(os.path.join(self.directory, "down"), "w", encoding="ascii"):
            pass
        with (contextlib.suppress(FileNotFoundError, ProcessLookupError),
              open(os.path.join(self.directory, "data/postmaster.pid"), encoding="ascii") as lines):
            os.kill(int(next(lines)), signal.SIGQUIT)

    def come_back(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.directory, "down"))

    def create(self):
        """A new database; its name."""
        name = f"house{next(self.numbers)}"
        self.sql(f"CREATE DATABASE {name}")
        return name

    def drop(self, name):
        self.sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
