"""The factor by which a campaign's limits are extended: the tests, which also run under a sanitizer and
in parallel, set ten. Only failures take that long."""
import os

SLOWNESS = float(os.environ.get("PHOTOINBOX_CAMPAIGN_SLOWNESS", 1))
