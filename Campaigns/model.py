#!/usr/bin/python3
"""The protocol of several hosts as a model in Promela, explored in full by spin: with the rules, nothing is violated; with each
broken rule, something is.

usage: Campaigns/model.py [--failover] [--variant NAME]…

  --failover  also a catalogue that goes back (minutes, and 2 GB of memory)
  --variant   only those whose name contains it

Says so where spin or gcc are not installed. Exits with 1 if a variant ends otherwise than it must.
"""
import argparse
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MODEL = pathlib.Path(__file__).resolve().parent.parent / "Models" / "claims.pml"
ALL = ["CRASH=2", "STRAYS", "BOTH"]
BACK = ["FAILOVER=1", "BYTES_ONLY", "CRASH=1"]
Variant = collections.namedtuple("Variant", "name, definitions, same, other, goes_back", defaults=[False])

# For the same content on both hosts, and for others of one name: whether nothing is violated.
VARIANTS = [
    Variant("the rules", ALL, True, True),
    Variant("places are not reserved", ALL + ["NO_PLACES"], True, True),
    Variant("no fence, nothing reserved, equal files adopted", ALL + ["NO_FENCE", "NO_PLACES", "ADOPT_EQUAL"], True, True),
    Variant("withdraw while the source stands", ALL + ["WITHDRAW"], False, False),
    Variant("equal file adopted, and withdrawn", ALL + ["WITHDRAW", "ADOPT_EQUAL"], False, False),
    Variant("retire, then unlink", ALL + ["RETIRE"], True, True),
    Variant("retire, then unlink, places not reserved", ALL + ["RETIRE", "NO_PLACES"], False, True),
    Variant("takeover deletes", ALL + ["TAKEOVER_DELETES"], False, True),
    Variant("adopter closes where no file stands", ALL + ["ADOPTER_CLOSES"], False, False),
    Variant("the catalogue goes back", BACK, True, True, True),
    Variant("the catalogue goes back; retire, then unlink", BACK + ["RETIRE"], False, False, True),
]


def explore(definitions, directory):
    """Whether nothing was violated, and the numbers of states and of steps to the violation."""
    spin = ["spin", *(f"-D{one}" for one in definitions), "-a", str(MODEL)]
    subprocess.run(spin, cwd=directory, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["gcc", "-O2", "-DSAFETY", "-DNOREDUCE", "-w", "-o", "pan", "pan.c"], cwd=directory, check=True)
    run = subprocess.run(["./pan", "-m600000", "-w24"], cwd=directory, check=True, capture_output=True, text=True)
    errors = re.search(r"errors: (\d+)", run.stdout)
    states = re.search(r"(\d+) states, stored", run.stdout)
    if not errors or not states or "max search depth too small" in run.stdout or "out of memory" in run.stdout:
        raise SystemExit(f"model: spin did not explore all: {run.stdout[-2000:]}")
    depth = re.search(r"at depth (\d+)", run.stdout)
    return errors[1] == "0", int(states[1]), depth and int(depth[1])


def main():
    arguments = argparse.ArgumentParser(usage=__doc__)
    arguments.add_argument("--failover", action="store_true")
    arguments.add_argument("--variant", action="append")
    options = arguments.parse_args()
    missing = [program for program in ("spin", "gcc") if not shutil.which(program)]
    if missing:
        print(f"model: skipped: {' and '.join(missing)} not installed")
        return 0
    wrong = 0
    for variant in VARIANTS:
        if variant.goes_back and not options.failover:
            continue
        if options.variant and not any(part in variant.name for part in options.variant):
            continue
        for same, expected in ((1, variant.same), (0, variant.other)):
            with tempfile.TemporaryDirectory() as directory:
                holds, states, depth = explore([f"SAME={same}", *variant.definitions], directory)
            wrong += holds != expected
            result = "nothing violated" if holds else f"violated at step {depth}"
            verdict = "" if holds == expected else "  WRONG: it must be otherwise"
            print(f"{variant.name}, {'same' if same else 'other'} content: {result}, {states:,} states{verdict}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
