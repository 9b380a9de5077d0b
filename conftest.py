"""Tests and pages run against the installed package, whatever folder they are started from."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent

# `python -m pytest` puts the checkout first on the path, where prvcore has no compiled modules.
if not list((ROOT / "prvcore").glob("_core/composition.*.so")):
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]
