"""Benchmarks of prvcore and of its peers; see README.md.

The installed prvcore is what is measured: the checkout, which `python -m` puts first on the path
and where prvcore has no compiled modules, goes last.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

if not [
    *(ROOT / "prvcore").glob("_core/composition.*.so"),
    *(ROOT / "prvcore").glob("_core/*.pyd"),
]:
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]
    sys.path.append(str(ROOT))
