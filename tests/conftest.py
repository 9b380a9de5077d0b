"""What the tests have in common."""

import re
import signal
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# What a shell starts in the background has Ctrl-C ignored: tests of interrupts would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)


def program_of(page, line):
    """Return the program of a page of the documentation in which a line stands."""
    blocks = re.findall(
        r"^\.\. code-block:: python\n\n((?:   .*\n|\n)+)", page.read_text("utf-8"), re.MULTILINE
    )
    (program,) = (block for block in blocks if line in block)
    return textwrap.dedent(program)


@pytest.fixture
def memory_limit():
    """Put the memory limit back after a test that sets it."""
    import prvcore as prv

    limit = prv.get_memory_limit()
    yield limit
    prv.set_memory_limit(limit)
