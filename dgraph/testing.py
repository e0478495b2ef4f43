"""Aids for tests of programs and algorithms: settings under which a correct program gives the same answer.

``dgraph.run(program, graph, options=dgraph.testing.Options(direction="flip", sync="poison"))`` finds programs that
depend on the direction of a round, or that read a mirror which the synchronisation plan calls unread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from dgraph.engine import run_options


@dataclass(frozen=True)
class Options(run_options.Options):
    """Options of a run with two more settings.

    Attributes:
        direction: also "flip": push and pull alternate from round to round.
        sync: also "poison": mirrors that the plan calls unread hold arbitrary values.
    """

    DIRECTIONS: ClassVar[Sequence[str]] = (*run_options.Options.DIRECTIONS, "flip")
    SYNCS: ClassVar[Sequence[str]] = (*run_options.Options.SYNCS, "poison")
