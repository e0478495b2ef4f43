"""Base of solvers of rows on a rank's threads, which serve ranks with and without a GPU."""

from __future__ import annotations

from functools import cached_property

from dgraph.backend.cpu.threads.team import Team, team_of
from dgraph.backend.row_solver import RowSolver


class HostSolver(RowSolver):
    """Solver on a team of threads."""

    @cached_property
    def team(self) -> Team:
        """The threads of this rank."""
        return team_of(max(self.backend.host_threads, 1))
