"""``python -m dgraph``: see :mod:`dgraph.cli`."""

import sys

from dgraph.cli import main

if __name__ == "__main__":
    sys.exit(main())
