"""PostgreSQL for a benchmark: a server that waits for its disk, what a statement costs there, and a million photographs."""
import ctypes
import os
import pathlib
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "Campaigns"))

# pylint: disable=wrong-import-position
import postgres

ROWS = 1_000_000
# Rows that daemons make have numbers from these on: those of `fill` are older, and it is known what a number is of.
FIRST = {"intent": 7_000_000_001, "photo": 8_000_000_001, "outcome": 9_000_000_001}
SETTINGS = ("logging_collector=on", "log_destination=csvlog", "log_filename=statements")


class Server(postgres.Server):
    def __init__(self, base):
        super().__init__(base, self, settings=SETTINGS)

    def once(self):
        """Between two attempts to reach it."""
        time.sleep(0.05)

    def run(self, database, text):
        return self.sql(f"SET search_path = photoinbox; {text}", database).stdout

    def settle(self):
        """Has it write what it still has to: a copy of a database goes through its log, and would be written during what is
        measured next."""
        self.sql("CHECKPOINT")
        os.sync()

    def stop(self):
        self.process.stdin.close()
        self.process.wait()

    def number_rows(self, database):
        for table, first in FIRST.items():
            self.run(database, f"ALTER TABLE {table} ALTER COLUMN id RESTART WITH {first}")

    def move(self, database, library):
        """Has the photographs that a daemon has filed be in another library, of which no host knows."""
        self.run(database, f"""SET session_replication_role = replica; DELETE FROM library; DELETE FROM metadata_due;
            UPDATE host SET forgotten_at = now();
            UPDATE photo SET library = convert_to('{library}', 'UTF8') WHERE id >= {FIRST["photo"]}""")

    def fill(self, database):
        """A million rows, made from the one of a photograph that a daemon has filed, with all that its triggers make."""
        path = "convert_to(format('1999/%s/MADE_%s.JPG', i % 365, i), 'UTF8')"
        content = "sha256(int8send(i))"
        different = {
            "photo": {"id": "i", "sha256": content, "library": "convert_to('/made', 'UTF8')", "library_path": path,
                      "source_path": path, "original_name": path, "inbox": "'made'", "source_inode": "i",
                      "set_key": "convert_to('/made_' || i, 'UTF8')", "short_key": "convert_to('made_' || i, 'UTF8')",
                      "captured": "to_char(timestamp '1990-01-01' + i * interval '7 minutes', 'YYYY-MM-DD\"T\"HH24:MI:SS')"},
            "outcome": {"id": "i", "path": path, "photo_id": "i", "sha256": content, "destination": path, "inbox": "'made'"}}
        for table, columns in different.items():
            names = self.run(database, f"""SELECT quote_ident(attname) FROM pg_attribute
                WHERE attrelid = '{table}'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum""").split()
            if not set(columns) <= set(names):
                raise RuntimeError(f"the table {table} has other columns")
            self.run(database, f"""SET session_replication_role = replica;
                INSERT INTO {table} ({", ".join(names)}) SELECT {", ".join(columns.get(name, f"one.{name}") for name in names)}
                FROM generate_series(1::bigint, {ROWS}) AS i, (SELECT * FROM {table} ORDER BY id LIMIT 1) AS one""")
        self.run(database, f"""SET session_replication_role = replica;
            INSERT INTO tile SELECT day_of(captured), tile_second(captured), id, 0, substr(sha256, 1, 4) FROM photo
                WHERE id <= {ROWS};
            INSERT INTO tile_count (day, photos) SELECT day, count(*) FROM tile WHERE photo_id <= {ROWS} GROUP BY day;
            INSERT INTO metadata (photo_id, keywords) SELECT id, 'word' || id % 1000 FROM photo WHERE id <= {ROWS};
            INSERT INTO photo_text SELECT id, format('jpg:3 made:1 %s:2 word%s:5', id, id % 1000)::tsvector FROM photo
                WHERE id <= {ROWS}""")
        self.sql("VACUUM ANALYZE", database)
        self.settle()
        return int(self.sql(f"SELECT pg_database_size('{database}')").stdout)


class Connection:
    """One of libpq, without anything of the product."""

    def __init__(self, words):
        self.calls = ctypes.CDLL("libpq.so.5")
        self.calls.PQconnectdb.restype = self.calls.PQexec.restype = ctypes.c_void_p
        self.connection = ctypes.c_void_p(self.calls.PQconnectdb(words.encode()))

    def run(self, text):
        """How long a statement takes, in nanoseconds."""
        begun = time.monotonic_ns()
        result = ctypes.c_void_p(self.calls.PQexec(self.connection, text.encode()))
        ended = time.monotonic_ns()
        if self.calls.PQresultStatus(result) not in (1, 2):
            raise RuntimeError(f"PostgreSQL refused {text}")
        self.calls.PQclear(result)
        return ended - begun

    def close(self):
        self.calls.PQfinish(self.connection)
