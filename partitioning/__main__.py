"""``python -m partitioning``: see :mod:`dgraph.cli.partition`."""

import sys

from dgraph.cli.partition import main

if __name__ == "__main__":
    sys.exit(main())
