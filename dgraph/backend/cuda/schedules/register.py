"""The register of schedules: to add one, write ``NAME.cuh`` beside this file and a row here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """One row of the register.

    Attributes:
        name: on the command line; the function in its file, which is ``NAME.cuh``.
        help: the idea, in one line.
        source: where it was published.
        needs: schedules whose files its text builds on, in order.
        sums: whether it searches the prefix sums of degrees.
        huge: the schedule of a second kernel, for the vertices that the first puts aside; "" for none.
    """

    name: str
    help: str
    source: str
    needs: tuple[str, ...] = ()
    sums: bool = False
    huge: str = ""

    @property
    def room(self) -> str:
        """The C++ type of its shared memory."""
        return "".join(word.capitalize() for word in self.name.split("_")) + "Room"


SCHEDULES = {
    row.name: row
    for row in (
        Schedule("vertex", "a thread an active vertex", "000 BS"),
        Schedule("twc", "small vertices a thread, medium ones a warp, large ones a block", "Merrill 2012; 002"),
        Schedule("lb", "all edges over all threads, vertices found by binary search", "002", sums=True),
        Schedule("alb", "twc, and lb for huge vertices", "002", needs=("twc", "lb"), huge="lb"),
        Schedule("merge_path", "equal shares of vertices and edges a thread", "004; Green 2012", sums=True),
        Schedule("warp_search", "equal shares of edges a warp, vertices found together", "001", sums=True),
    )
}
"""Name → schedule. Their number in this order, from 1, is what kernels record; 0 is ``persistent``."""
