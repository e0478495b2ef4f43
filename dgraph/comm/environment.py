"""Environment variables that dgraph and Numba read: values with which nothing can run are refused, in one place."""

from __future__ import annotations

import os
import warnings

from dgraph.errors import UsageError

CHOICES = {
    "DGRAPH_COMPILE": ("never", "always"),
    "DGRAPH_LOOP": ("asyncio", "uvloop"),
    "NUMBA_THREADING_LAYER": ("default", "safe", "forksafe", "threadsafe", "tbb", "omp", "workqueue"),
}
"""Variable → its values; empty is as not set."""

OWN = "NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING"
"""Variable that ``dgraph.cli`` sets."""
CHECKED = {"NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "NUMBA_NUM_THREADS", OWN, *CHOICES}
"""Variables whose values Numba need not parse to show that they are right."""


def check_environment() -> None:
    """Raise a :class:`UsageError` for the first variable with a value that cannot be used."""
    for name, words in CHOICES.items():
        value = os.environ.get(name, "")
        if value and value not in words:
            raise UsageError(f"{name}={value} is none of {', '.join(words)}; set it to one of them, or unset it")
    threads = os.environ.get("NUMBA_NUM_THREADS", "")
    if threads and not (threads.isascii() and threads.isdigit() and int(threads) > 0):
        raise UsageError(f"NUMBA_NUM_THREADS={threads} is not a number of threads; set it to 1 or more, or unset it")
    off = os.environ.get("NUMBA_DISABLE_JIT", "")
    if off not in ("", "0"):
        raise UsageError(
            f"NUMBA_DISABLE_JIT={off} switches off the compiler of the rounds; unset it (DGRAPH_COMPILE=never "
            "interprets the rounds of small graphs)"
        )
    if any(name.startswith("NUMBA_") and name not in CHECKED for name in os.environ):
        _let_numba_parse()


def _let_numba_parse() -> None:
    """Import Numba, which warns of variables that it cannot parse and goes on with its defaults."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Environment variable", RuntimeWarning)
        try:
            from numba.core import config  # noqa: F401
        except RuntimeWarning as wrong:
            raise UsageError(f"{str(wrong).splitlines()[0]} Set it to a value that Numba knows, or unset it") from None
