"""The store: a partitioned graph as a folder of raw arrays that are opened by memory map.

``manifest.json`` says what is in the folder (``schema.json``); every other file is a row of arrays, each cut into
blocks that have a checksum of their own. This package knows files and arrays; what they mean is ``dgraph.graph``'s
business.
"""

from partitioning.store.draft import ArrayFile, StoreDraft
from partitioning.store.manifest import MANIFEST, StoreError, is_store, part_file
from partitioning.store.reader import Store

__all__ = ["MANIFEST", "ArrayFile", "Store", "StoreDraft", "StoreError", "is_store", "part_file"]
