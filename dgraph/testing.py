"""Aids for tests of programs and algorithms: settings under which a correct program gives the same answer.

``dgraph.run(program, graph, options=dgraph.testing.TestOptions(direction="flip", sync="poison"))`` finds programs
that depend on the direction of a round, or that read a mirror which the synchronisation plan calls unread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from dgraph.engine.run_options import Options


@dataclass(frozen=True)
class TestOptions(Options):
    """Options of a run with two more settings.

    Attributes:
        direction: also "flip": push and pull alternate from round to round.
        sync: also "poison": mirrors that the plan calls unread hold arbitrary values.
    """

    __test__: ClassVar[bool] = False
    """pytest is not to take the class for tests."""

    DIRECTIONS: ClassVar[Sequence[str]] = (*Options.DIRECTIONS, "flip")
    SYNCS: ClassVar[Sequence[str]] = (*Options.SYNCS, "poison")
