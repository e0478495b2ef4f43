"""``python -m dgraph``: see :mod:`dgraph.cli`."""

import sys

from dgraph.cli import console

if __name__ == "__main__":
    sys.exit(console())
