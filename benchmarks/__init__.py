"""Benchmarks of dgraph and its peers, which alternate in one run; each figure is stored with its command."""

import os

os.environ.setdefault("DGRAPH_COMPILE", "always")  # or NumPy would answer the first run on a small graph
