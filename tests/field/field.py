"""How long a field test plays: FIELD_SECONDS and FIELD_ROUNDS, or what is usual."""

import os
import sys

SKIPPED = 77


def seconds(usual):
    """For a test that plays until its time is over."""
    return int(os.environ.get("FIELD_SECONDS", usual))


def rounds(usual):
    """For a test that plays a number of rounds."""
    return int(os.environ.get("FIELD_ROUNDS", usual))


def skip(reason):
    """End the whole test as skipped."""
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)
