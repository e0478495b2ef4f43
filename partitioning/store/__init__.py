"""The store: a partitioned graph as a folder of raw arrays that are opened by memory map.

``manifest.json`` describes the folder (``schema.json``). Every other file is a sequence of arrays, each cut into blocks
with a checksum each. This package handles files and arrays; ``dgraph.graph.stored`` gives them their meaning.
"""

from partitioning.store.draft import ArrayFile, StoreDraft
from partitioning.store.manifest import MANIFEST, StoreError, is_store, part_file
from partitioning.store.reader import Store

__all__ = ["MANIFEST", "ArrayFile", "Store", "StoreDraft", "StoreError", "is_store", "part_file"]
