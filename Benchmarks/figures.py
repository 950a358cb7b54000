"""Statistics of samples and their targets."""
import math
import statistics


def spread(samples):
    """Minimum, median, 99th percentile by the nearest rank, and maximum."""
    ordered = sorted(samples)
    return {
        "min": ordered[0],
        "median": statistics.median(ordered),
        "p99": ordered[math.ceil(0.99 * len(ordered)) - 1],
        "max": ordered[-1],
        "count": len(ordered),
    }


def ratio(spreads, name, other):
    """Its median divided by that of another; None if one was not measured."""
    if name not in spreads or other not in spreads or not spreads[other]["median"]:
        return None
    return spreads[name]["median"] / spreads[other]["median"]


def noise(runs):
    """How far the medians of the same work are from each other, as a ratio: of runs, or of the halves of a single one."""
    if len(runs) == 1:
        runs = [runs[0][::2], runs[0][1::2]]
    medians = [statistics.median(run) for run in runs]
    return max(medians) / min(medians)


def target(what, value, limit):
    """One target and whether it is reached; None if not measured."""
    if value is None:
        return None
    return {"what": what, "value": value, "limit": limit, "reached": value <= limit}


def at_least(what, value, limit):
    """The same for values that should be large."""
    if value is None:
        return None
    return {"what": what, "value": value, "limit": limit, "reached": value >= limit, "least": True}
