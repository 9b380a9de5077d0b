"""`python -m prvcore` is the command `prvcore`."""

import sys

from prvcore._cli import main

if __name__ == "__main__":
    sys.exit(main())
