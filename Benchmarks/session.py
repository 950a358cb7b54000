"""One run of the benchmark: how often, and what it had to leave out."""
import contextlib
import sqlite3
import subprocess
import sys


class Session:
    def __init__(self, runs):
        self.runs = runs
        self.left_out = []
        self.failed = []

    def turns(self, watchers, what):
        """Each program in turn, so many times: A B C, A B C, so that what disturbs the machine disturbs all alike."""
        for turn in range(self.runs):
            for watcher in watchers:
                self.note(f"{what}: {watcher.name}, run {turn + 1} of {self.runs}")
                yield watcher

    def leave_out(self, text):
        if text not in self.left_out:
            self.left_out.append(text)

    @contextlib.contextmanager
    def attempt(self, what):
        """A failure is told with the results; what else is measured is not thrown away for it."""
        try:
            yield
        except (OSError, RuntimeError, sqlite3.Error, subprocess.CalledProcessError) as error:
            self.failed.append(f"{what}: {error}")

    @staticmethod
    def note(text):
        print(text, file=sys.stderr, flush=True)
