"""What pytest needs before it can import tests and run the examples of the pages."""

import signal
import sys
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import settings

# Tests are named from the checkout, as tests.api.test_curves is, whatever folder pytest begins in.
# This import takes the checkout off the path again, unless prvcore was built in it.
sys.path.insert(0, str(Path(__file__).resolve().parent))
import_module("tests")

# What a shell starts in the background has Ctrl-C ignored: tests of interrupts would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)

# An example may take as long as it does: a machine that does other things as well fails no test.
settings.register_profile("prvcore", deadline=None)
settings.load_profile("prvcore")


@pytest.fixture
def memory_limit():
    """Put the memory limit back after a test that sets it."""
    import prvcore as prv

    limit = prv.get_memory_limit()
    yield limit
    prv.set_memory_limit(limit)
