"""Frame of the user's code, for warnings."""

import sys


def users_frame() -> int:
    """Return the ``stacklevel`` at which a warning of the calling function names the line outside dgraph."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "dgraph":
        level, frame = level + 1, frame.f_back
    return level
