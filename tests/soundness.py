"""The former name of `tests.oracle`: python -m tests.soundness --minutes 20."""

import sys

from tests.oracle.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
