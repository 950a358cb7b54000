"""The common options of the campaigns with a house's daemon."""
import argparse
import random

import house as houses
import postgres


def parser(usage, jobs):
    """The options of every such campaign."""
    arguments = argparse.ArgumentParser(usage=usage)
    arguments.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    arguments.add_argument("--jobs", type=int, default=jobs)
    arguments.add_argument("--patience", type=float, default=houses.PATIENCE)
    arguments.add_argument("--daemon")
    return arguments


def fault_parser(usage, jobs):
    """With those of campaigns that strike at system calls in the scenarios."""
    arguments = parser(usage, jobs)
    arguments.add_argument("--scenario", action="append")
    arguments.add_argument("--at", type=int)
    arguments.add_argument("--first", action="store_true")
    return arguments


def begin(arguments, name, traces=False, server=False):
    """What was asked for, with the daemon's path found, told in a first line, and with a running `server` of PostgreSQL, if
    one is needed or asked for; None, and why, if that or the fault tool, which `traces`, cannot work here."""
    options = arguments.parse_args()
    houses.PATIENCE = options.patience
    options.server = None
    if server or getattr(options, "catalogue", None) == "postgresql":
        if not postgres.INITDB:
            print("skipped: needs PostgreSQL's server (package postgresql)")
            return None
        options.server = postgres.Server(houses.default_base(), houses.Waiting("answer of PostgreSQL"))
    if traces and (reason := houses.why_not_traceable()):
        print(f"skipped: {reason}")
        return None
    options.daemon = houses.program(given=options.daemon)
    print(f"{name}: seed {options.seed}, {options.daemon}", flush=True)
    return options
