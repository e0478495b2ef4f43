"""Write columns to one file by ascending vertex, all ranks at once; no rank holds all rows.

``file_rows.py`` brings rows in the order of the file, a piece at a time. Each rank then writes its part of the text or
.npz at its own offset of a draft (``shared_file.py``), which is renamed at the end.
"""

from dgraph.result.files.save import WRITERS, check, check_suffix, refuse_names, save

__all__ = ["WRITERS", "check", "check_suffix", "refuse_names", "save"]
