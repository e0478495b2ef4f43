"""Columns as a file, ascending by vertex, written by all ranks at once. No rank ever holds the whole:
columns by rank → Ascending (contiguous id ranges) → text or .npz, every rank at its own offset → one rename.
"""

from dgraph.result.files.save import WRITERS, check, save

__all__ = ["WRITERS", "check", "save"]
