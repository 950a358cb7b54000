"""By how much longer than usual a campaign waits for what must come: the tests, which also run under a sanitizer and
beside each other, say ten times. Only what fails pays for it."""
import os

SLOWNESS = float(os.environ.get("PHOTOINBOX_CAMPAIGN_SLOWNESS", 1))
