"""Write columns to one file by ascending vertex, all ranks at once; no rank holds all rows.

``sample_sort.py`` redistributes rows into contiguous id ranges. Each rank then writes its range of the text or .npz at
its own offset of a draft (``shared_file.py``), which is renamed at the end.
"""

from dgraph.result.files.save import WRITERS, check, check_suffix, save, save_in_order

__all__ = ["WRITERS", "check", "check_suffix", "save", "save_in_order"]
