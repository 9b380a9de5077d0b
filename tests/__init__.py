"""The tests, in rooms; they run against the installed prvcore, or one that was built in place.

pytest runs ``api``, ``mathematics``, ``robustness``, ``adapters`` and ``pages``. ``oracle``
compares random questions with the truth (``python -m tests.oracle``), ``programs`` fuzz and soak.
``support`` is what tests share, ``data`` what they read, ``typing`` what mypy reads.
"""

import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Whoever imports this package has the checkout on the path. If no modules were compiled in it, its
# sources must not hide the installed prvcore.
if not list((ROOT / "prvcore").rglob(f"*{EXTENSION_SUFFIXES[0]}")):
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]
