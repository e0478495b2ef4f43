"""Numbers of rules: rows of ``broken``, which kernels and Python share. The rules: ``dgraph/validate``."""

BROKEN_SOURCE, BROKEN_NEGATIVE, BROKEN_BEYOND, BROKEN_ROOT, BROKEN_OUT, BROKEN_NONE = range(6)
BROKEN_LOST, BROKEN_SHORT, BROKEN_ARC, BROKEN_TIGHT, BROKEN_ALONE, BROKEN_CIRCLE = range(6, 12)
PLATEAUS, SETTLED, PROOFS = range(12, 15)

TREE = {
    "source": BROKEN_SOURCE, "negative": BROKEN_NEGATIVE, "beyond": BROKEN_BEYOND, "root": BROKEN_ROOT,
    "out": BROKEN_OUT, "none": BROKEN_NONE, "lost": BROKEN_LOST, "short": BROKEN_SHORT,
    "arc": BROKEN_ARC, "tight": BROKEN_TIGHT, "alone": BROKEN_ALONE, "plateaus": PLATEAUS,
    "circle": BROKEN_CIRCLE,
}  # fmt: skip
COLOR = {"given": 0, "differ": 1, "beyond": 2, "gap": 3}
CORE = {"flag": 0, "few": 1, "larger": 2, "queued": 3}
COMPONENT = {"vertex": 0, "own": 1, "equal": 2, "under": 3, "apart": 4}
STRONG = {"vertex": 0, "own": 1, "larger": 2, "behind": 3, "before": 4, "apart": 5, "changed": 6}
FOREST = {"apart": 0, "light": 1, "missing": 2, "changed": 3, "circle": 4, "valid": 5}
SET = {"decided": 0, "apart": 1, "maximal": 2}
RANK = {"mass": 0, "chances": 1, "most_arriving": 2}
TOTALS = {"mass": 0, "lost": 1, "change": 2, "missed": 3}
"""Words of ``totals``, the sums of PageRank."""

NONE = 2**64 - 1
"""Place of a rule that is not broken."""
