"""Text of the kernels in ``reach_words.cuh``."""

from dgraph.algorithms.many_sources.gpu import source_rows

DIGITS = 31
"""Most binary digits of a distance."""


def text(wide: bool, words: int) -> str:
    """Return the kernels' text. ``wide``: offsets are 64-bit; ``words``: of a vertex."""
    return source_rows.text("reach_words", wide, WORDS=words, GROUP=max(8, words), DIGITS=DIGITS)
