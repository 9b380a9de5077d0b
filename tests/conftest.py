"""Tests run against the installed package, whatever folder they are started from."""

import signal
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# `python -m pytest` puts the checkout first on the path, where prvcore has no compiled modules.
if not list((ROOT / "prvcore").glob("_accounting.*.so")):
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]


# What a shell starts in the background has Ctrl-C ignored: tests of interrupts would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def memory_limit():
    """Put the memory limit back after a test that sets it."""
    import prvcore as prv

    limit = prv.get_memory_limit()
    yield limit
    prv.set_memory_limit(limit)
