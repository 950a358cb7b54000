"""One run of the benchmark: the number of rounds, and the omissions."""
import contextlib
import sqlite3
import subprocess
import sys


class Session:
    def __init__(self, runs):
        self.runs = runs
        self.left_out = []
        self.failed = []
        self._kept, self._end = {}, contextlib.ExitStack()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._end.close()

    def once(self, name, make):
        """What several parts need: made, as a context, by the first of them, and kept until the end of the run."""
        if name not in self._kept:
            self._kept[name] = self._end.enter_context(make())
        return self._kept[name]

    def turns(self, watchers, what):
        """Each program in turn, repeatedly: A B C, A B C, so that disturbances affect all equally."""
        for turn in range(self.runs):
            for watcher in watchers:
                self.note(f"{what}: {watcher.name}, run {turn + 1} of {self.runs}")
                yield watcher

    def leave_out(self, text):
        if text not in self.left_out:
            self.left_out.append(text)

    @contextlib.contextmanager
    def attempt(self, what):
        """Reports a failure with the results and continues with the other measurements."""
        try:
            yield
        except (OSError, RuntimeError, sqlite3.Error, subprocess.CalledProcessError) as error:
            self.failed.append(f"{what}: {error}")

    @staticmethod
    def note(text):
        print(text, file=sys.stderr, flush=True)
