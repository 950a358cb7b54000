"""The floor of a fleet: the statements with which a daemon has filed one photograph, taken from the server's log, run by pgbench
for others, each transaction in one round trip."""
import csv
import os
import re
import subprocess
import tempfile
import time

from databases import FIRST

HOSTS = 1_000_000  # the number of the floor's first host
LOGGED = "options='-c log_statement=all'"  # of a connection
BEGIN, COMMIT = "BEGIN", "COMMIT"
# Which tables the transactions of a filing change.
CHANGES = ("INSERT INTO intent", "INSERT INTO photo", "DELETE FROM intent")


class Log:
    """What the server logs from now on."""

    def __init__(self, server):
        self.path = os.path.join(server.directory, "data/log/statements.csv")
        self.begin = os.path.getsize(self.path)

    def transactions(self):
        """Those that are whole: lists of statements with their arguments."""
        open_ones, whole = {}, []
        with open(self.path, encoding="utf-8", newline="") as log:
            log.seek(self.begin)
            for row in csv.reader(log):
                if len(row) < 15 or not (found := re.match(r"execute [^:]*: (.*)", row[13], re.DOTALL)):
                    continue
                sql = found[1].strip()
                arguments = {int(number): None if value == "NULL" else value[1:-1].replace("''", "'")
                             for number, value in re.findall(r"\$(\d+) = (NULL|'(?:[^']|'')*')", row[14] or "")}
                transaction = [] if sql.startswith(BEGIN) else open_ones.get(row[3], [])
                open_ones[row[3]] = transaction
                transaction.append((sql, arguments))
                if sql == COMMIT:
                    whole.append(open_ones.pop(row[3]))
        return whole

    def filing(self, seconds=10):
        """Those that recorded a photograph, in order."""
        end = time.monotonic() + seconds
        while True:
            some = [one for one in self.transactions() if any(change in sql for sql, _ in one for change in CHANGES)]
            if all(any(change in sql for one in some for sql, _ in one) for change in CHANGES):
                return some
            if time.monotonic() > end:
                raise RuntimeError("the log does not have the statements of a filing")
            time.sleep(0.05)


def script(filing, number, content, inbox):
    """For pgbench: the same for a photograph with another content, name and so on. `number` is in the names of the one that
    was filed, and `content` is its SHA-256."""
    values = [value for one in filing for _, arguments in one for value in arguments.values() if value]
    token = next(found[1] for value in values if value.startswith("\\x")
                 and (found := re.search(r"\.photo-inbox-(\w+)\.part", bytes.fromhex(value[2:]).decode("latin-1"))))

    def text(value):
        # pgbench would take what is behind a colon for a variable.
        parts = [f"""E'{part.replace(chr(92), chr(92) * 2).replace("'", "''").replace(":", f"{chr(92)}x3a")}'"""
                 if part not in (token, number) else ":one::text" for part in re.split(f"({token}|{number})", value) if part]
        return " || ".join(parts) or "''"

    def expression(value):
        if value is None:
            return "NULL"
        if value == inbox:
            return "('floor' || :client_id::text)"
        if value == f"\\x{content}":
            return "sha256(int8send(:one::bigint))"
        if value.startswith("\\x"):
            decoded = bytes.fromhex(value[2:]).decode("latin-1")
            return f"convert_to({text(decoded)}, 'UTF8')" if token in decoded or number in decoded else f"'{value}'::bytea"
        for table, first in FIRST.items():
            if value.isdecimal() and first <= int(value) < first + 1_000_000:
                # Asked once: it is volatile.
                return f"(SELECT currval('photoinbox.{table}_id_seq'))"
        return f"({text(value)})"

    lines = [r"\set one random(1, 9000000000000000000)", rf"\set host {HOSTS} + :client_id"]
    for one in filing:
        lines.append(r"\startpipeline")
        for sql, arguments in one:
            if "require_life" in sql:
                sql = "SELECT require_life(:host, 1, :written)"
            lines.append(re.sub(r"\$(\d+)", lambda found, values=arguments: expression(values[int(found[1])]), sql) + ";")
        lines += [r"\endpipeline", r"\set written :written + 1"]
    return "\n".join(lines) + "\n"


def floor(server, database, text, clients, seconds):
    """Filings a second of so many clients."""
    server.run(database, f"""INSERT INTO host (id, key, name, life, epoch, seen)
        SELECT id, id, id, id, 1, now() FROM generate_series({HOSTS}, {HOSTS + clients - 1}) AS id
            ON CONFLICT (id) DO UPDATE SET writes = 0;
        INSERT INTO inbox SELECT 'floor' || id - {HOSTS}, id FROM host WHERE id >= {HOSTS} ON CONFLICT (name) DO NOTHING""")
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".sql") as file:
        file.write(text)
        file.flush()
        answer = subprocess.run(
            ["pgbench", "-n", "-M", "prepared", "-c", str(clients), "-j", "2", "-T", str(seconds), "-f", file.name, "-D",
             "written=0", server.words(database)], env=dict(os.environ, PGOPTIONS="-c search_path=photoinbox"),
            capture_output=True, text=True, check=False)
    found = re.search(r"tps = ([\d.]+) \(without", answer.stdout)
    if answer.returncode or not found:
        raise RuntimeError(f"pgbench: {answer.stderr[-2000:]}")
    return float(found[1])
