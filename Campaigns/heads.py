#!/usr/bin/env python3
"""Mutants of requests, to the server of the pages, node and nginx: what two accept, they must cut in the same places.

usage: heads.py [--mutants N] [--seed N] [--programs DIR]

A request that one program reads as one and the next as two is how requests are smuggled past a proxy. Each mutant is followed by a
plain request, and sent to each. For as many requests as the server and another one have accepted, method, path and body must be
equal. Node stands on llhttp as the server does, in another version and with other rules on top; nginx, which is asked if it is
installed, has a parser of its own, and passes what it accepts on to node.
"""

import argparse
import json
import os
import random
import re
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import unquote_to_bytes

NODE = """
const server = require('http').createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => response.end(JSON.stringify([request.method, Buffer.from(request.url, 'latin1').toString('hex'),
    Buffer.concat(parts).toString('hex')]) + '\\n'));
});
server.listen(process.argv[1]);
"""

NGINX = """
daemon off; master_process off; pid PLACE/pid; error_log /dev/null;
events {}
http {
  access_log off; keepalive_requests 100000000; merge_slashes off;
  client_body_temp_path PLACE/body; proxy_temp_path PLACE/proxy; fastcgi_temp_path PLACE/fastcgi; uwsgi_temp_path PLACE/uwsgi;
  scgi_temp_path PLACE/scgi;
  server { listen unix:PLACE/nginx; location / { proxy_pass http://unix:PLACE/node:; proxy_http_version 1.1; } }
}
"""

STARTS = [
    b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST /a/b HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
    b"POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"PUT /a?b=c HTTP/1.1\r\nHost: a\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nA: b\r\n\r\n",
    b"DELETE /a HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n",
    b"POST /a HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc",
]
LINES = [
    b"Content-Length: 5", b"Content-Length: 6", b"Content-Length: 05", b"Content-Length: +5", b"Content-Length: 5, 5",
    b"Content-Length : 5", b"Content-Length:5", b"Content-Length: 0x5", b"Content-Length: 5 ", b"Content-Length:\t5",
    b"Transfer-Encoding: chunked", b"Transfer-Encoding : chunked", b"Transfer-Encoding: xchunked", b"Transfer-Encoding:chunked",
    b"Transfer-Encoding: chunked, identity", b"Transfer-Encoding: identity", b"Transfer-Encoding: CHUNKED",
    b"Transfer-Encoding: gzip, chunked", b"Transfer-Encoding:\x0bchunked", b"Transfer-Encoding: chunked\x00", b" folded: b",
    b"Transfer_Encoding: chunked", b"Host: b", b"Connection: close", b"Expect: 100-continue", b"Upgrade: x", b"X: y\rContent-Length: 9",
    b"X:", b":", b"", b"\tX: y", b"TE: trailers", b"Content-Length: 18446744073709551621", b"Content-Length: -1",
]
BYTES = [b"\r", b"\n", b"\r\n", b" ", b"\t", b"\0", b":", b"0", b"5", b"\x80", b";", b",", b"\x0b", b"a", b"GET ", b"\r\n\r\n"]
LAST = b"GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


def mutant(chance):
    request = chance.choice(STARTS)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        kind = chance.randrange(5)
        place = chance.randrange(len(request) + 1)
        if kind == 0:
            lines = request.split(b"\r\n")
            lines.insert(chance.randrange(1, 4), chance.choice(LINES))
            request = b"\r\n".join(lines)
        elif kind == 1:
            request = request[:place] + chance.choice(BYTES) + request[place:]
        elif kind == 2:
            request = request[:place] + request[place + chance.randint(1, 3):]
        elif kind == 3:
            request = request[:place] + chance.choice(BYTES) + request[place + 1:]
        else:
            request = request.replace(b"\r\n", chance.choice([b"\n", b"\r", b"\r\n "]), chance.randint(1, 2))
    return request


def accepted(path, request):
    """The requests that the server at `path` has read: method, path, body."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(0.25)
        client.connect(path)
        answer = b""
        try:
            client.sendall(request + LAST)
            while part := client.recv(65536):
                answer += part
                if b"6c617374" in answer:  # the path of the last one, in hexadecimal digits
                    break
        except OSError:
            pass
    return [json.loads(found) for found in re.findall(rb'\["[A-Z]+", ?"[0-9a-f]*", ?"[0-9a-f]*"\]', answer)]


def answers(path):
    try:
        return len(accepted(path, b"")) == 1
    except OSError:
        return False


def plain(read):
    """As the pages' server shows a path: without the query, decoded."""
    method, path, body = read
    path = unquote_to_bytes(bytes.fromhex(path).split(b"?")[0]).strip(b"/")
    return [method, path.hex(), body]


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--mutants", type=int, default=100_000)
    options.add_argument("--seed", type=int, default=int(time.time()))
    options.add_argument("--programs", default=".build/debug")
    options = options.parse_args()
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as directory:
        ours = f"{directory}/ours"
        programs = [
            subprocess.Popen([Path(options.programs) / "web-probe", ours]),
            subprocess.Popen(["node", "-e", NODE, f"{directory}/node"]),
        ]
        peers = ["node"]
        if nginx := shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin"):
            peers.append("nginx")
            configuration = Path(directory, "nginx.conf")
            configuration.write_text(NGINX.replace("PLACE", directory))
            programs.append(subprocess.Popen([nginx, "-c", configuration], stderr=subprocess.DEVNULL))
        try:
            while not all(answers(each) for each in (ours, *(f"{directory}/{peer}" for peer in peers))):
                time.sleep(0.05)
            both = dict.fromkeys(peers, 0)
            for number in range(options.mutants):
                request = mutant(chance)
                here = accepted(ours, request)
                for peer in peers if here else []:
                    there = [plain(read) for read in accepted(f"{directory}/{peer}", request)]
                    both[peer] += bool(there)
                    for own, other in zip(here, there):
                        if own != other:
                            raise SystemExit(f"seed {options.seed}, mutant {number}: {request!r}\n  here {here}\n  {peer} {there}")
            counts = ", ".join(f"{peer} {count}" for peer, count in both.items())
            print(f"{options.mutants} mutants, seed {options.seed}; accepted here and by {counts}; nothing was cut in other places")
        finally:
            for program in programs:
                program.kill()


main()
