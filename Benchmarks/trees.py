"""Temporary directory trees on tmpfs for one run of the benchmark."""
import contextlib
import os
import pathlib
import shutil

MEMORY = pathlib.Path("/dev/shm")  # tmpfs on every Linux that has systemd
YEARS, ALBUMS = 50, 999
DEEP = YEARS * (ALBUMS + 1)  # the root is not counted
SUBJECTS = ("Sailing on the lake", "Birthday", "Walk in the woods, RAW")


@contextlib.contextmanager
def tree(directories):
    """A new directory with `directories` directories in it."""
    with _root("flat") as root:
        for number in range(directories):
            (root / f"{number:03d}").mkdir()
        yield root


@contextlib.contextmanager
def deep_tree():
    """50,000 directories as in a library: years with albums by day; no files."""
    with _root("deep") as root:
        for year in range(1975, 1975 + YEARS):
            (root / str(year)).mkdir()
            for number in range(ALBUMS):
                day, subject = divmod(number, len(SUBJECTS))
                os.mkdir(f"{root}/{year}/{year}-{day // 28 + 1:02d}-{day % 28 + 1:02d} {SUBJECTS[subject]}")
        yield root


@contextlib.contextmanager
def _root(kind):
    path = MEMORY / f"photo-inbox-bench-{os.getpid()}-{kind}"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
