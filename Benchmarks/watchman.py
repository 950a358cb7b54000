"""A private watchman server in its own directory, and its client."""
import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time


class Server:
    """Runs from its construction on; keeps no data and does not affect other servers."""

    def __init__(self):
        self._directory = tempfile.mkdtemp(prefix="photo-inbox-watchman-")
        self._socket = os.path.join(self._directory, "socket")
        names = {name: os.path.join(self._directory, name) for name in ("logfile", "statefile", "pidfile")}
        self._process = subprocess.Popen(
            ["watchman", "--foreground", "--no-save-state", f"--sockname={self._socket}",
             *(f"--{option}={path}" for option, path in names.items())],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.pid = self._process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._directory, ignore_errors=True)

    def ask(self, *command):
        """Sends one command and returns the answer, once it listens."""
        with self._connected() as connection:
            connection.sendall(json.dumps(command).encode() + b"\n")
            answer = json.loads(connection.makefile("rb").readline())
        if "error" in answer:
            raise RuntimeError(f"watchman: {answer['error']}")
        return answer

    def client(self):
        """The command of its client, which reads a command from standard input and prints the results."""
        return ["watchman", "--no-spawn", "--no-local", f"--sockname={self._socket}", "--persistent", "--json-command",
                "--no-pretty"]

    @contextlib.contextmanager
    def command(self, *words):
        """A file with a command for the client."""
        with open(os.path.join(self._directory, "command"), "w+", encoding="utf-8") as file:
            json.dump(words, file)
            file.flush()
            file.seek(0)
            yield file

    def _connected(self):
        end = time.monotonic() + 30
        while True:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
            try:
                connection.connect(self._socket)
                return connection
            except (FileNotFoundError, ConnectionRefusedError):
                connection.close()
                if self._process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError("watchman's server does not listen") from None
                time.sleep(0.001)
