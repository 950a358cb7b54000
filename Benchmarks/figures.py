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
