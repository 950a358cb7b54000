"""Measurements by watchmeter: from close(2) to the printed name, and the processor time for many finished files."""
import collections
import json
import subprocess

from figures import ratio, spread, target
from trees import tree

FILES, DIRECTORIES, DROPS = 100_000, 100, 1000
OURS = "photoinbox watch"


def run(meter, watcher, kind, count, directory):
    with watcher.metered(directory) as (options, command, standard_input):
        words = [meter, *options, kind, count, directory, *command]
        answer = subprocess.run([str(word) for word in words], check=True, stdin=standard_input, stdout=subprocess.PIPE)
    return json.loads(answer.stdout)


def in_turn(session, meter, watchers, kind, count, directories):
    """The answers by program."""
    answers = collections.defaultdict(list)
    for watcher in session.turns(watchers, kind):
        with session.attempt(f"{kind} of {watcher.name}"), tree(directories) as path:
            answers[watcher.name].append(run(meter, watcher, kind, count, path))
    return answers


def latency(session, meter, watchers, drops=DROPS):
    spreads = {}
    for name, answers in in_turn(session, meter, watchers, "latency", drops, 0).items():
        samples = [sample for answer in answers for sample in answer["samples"]]
        if samples:
            spreads[name] = {**spread(samples), "lost": sum(answer["lost"] for answer in answers)}
    targets = [target("× inotifywait", ratio(spreads, OURS, "inotifywait"), 1.0)]
    return {"files": drops, "close_to_name": spreads, "targets": list(filter(None, targets))}


def cpu(session, meter, watchers, files=FILES):
    spreads = {}
    for name, answers in in_turn(session, meter, watchers, "cpu", files, DIRECTORIES).items():
        spreads[name] = {
            **spread([answer["cpu_ns"] for answer in answers]),
            "wall": spread([answer["wall_ns"] for answer in answers]),
            "lost": max(answer["files"] - answer["reported"] for answer in answers),
            "again": max(answer["reports"] - answer["reported"] for answer in answers),
        }
    targets = [
        target("× floor", ratio(spreads, OURS, "floor"), 1.0),
        target("× inotifywait", ratio(spreads, OURS, "inotifywait"), 1.0),
        target("files lost", spreads.get(OURS, {}).get("lost"), 0),
        target("files told again", spreads.get(OURS, {}).get("again"), 0),
    ]
    return {"files": files, "directories": DIRECTORIES, "processor": spreads, "targets": list(filter(None, targets))}
