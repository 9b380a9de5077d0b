"""Where the checkout is, and what the tests read of it."""

import re
import textwrap

from tests import ROOT

__all__ = ["DATA", "ROOT", "program_of"]

DATA = ROOT / "tests" / "data"


def program_of(page, line):
    """Return the program of a page of the documentation in which a line stands."""
    blocks = re.findall(
        r"^\.\. code-block:: python\n\n((?:   .*\n|\n)+)", page.read_text("utf-8"), re.MULTILINE
    )
    (program,) = (block for block in blocks if line in block)
    return textwrap.dedent(program)
