"""The console script `foldb`."""

from __future__ import annotations

import sys

from foldb._foldb import run_shell


def main() -> int:
    """Runs the command of the process, and returns its exit code."""
    return run_shell(sys.argv)
