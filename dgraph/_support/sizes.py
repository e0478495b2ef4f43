"""Sizes in bytes, as people write them."""

from __future__ import annotations

import re

from dgraph.errors import UsageError, shown

UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
"""Prefix → power of two."""


def parse_size(text: str) -> int:
    """Return ``139GiB``, ``64G`` or ``1e9`` in bytes.

    Raises:
        UsageError: not a size.
    """
    match = re.fullmatch(r"(\d+(?:\.\d*)?(?:e\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if not match:
        raise UsageError(f"{shown(text)} is not a size; write bytes, or 16GiB")
    size = float(match[1]) * 2 ** UNITS[match[2].upper()]
    if size >= 2**63:
        raise UsageError(f"{shown(text)} is not a size that a machine has; write bytes, or 16GiB")
    return int(size)
