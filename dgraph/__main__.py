"""``python -m dgraph``: see :mod:`dgraph.cli`."""

import gc
import sys

from dgraph.cli import main

if __name__ == "__main__":
    # Imports make many objects and no garbage: at Python's own threshold a tenth of a start is collection.
    gc.set_threshold(50_000)
    # Numba loads scipy.linalg where it is installed, for the matrix products that dgraph does not have: 0.2 s a rank.
    sys.modules.setdefault("scipy.linalg.cython_blas", None)  # type: ignore[arg-type]
    sys.exit(main())
