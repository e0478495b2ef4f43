"""Progress reports of a run. The class here prints nothing; the command line has two subclasses that do."""

from __future__ import annotations


class Progress:
    """Observer of a run. Every rank may call it: an implementation decides which ranks print. Calls must be cheap."""

    def phase(self, name: str, detail: str = "") -> None:
        """Report the start of ``load``, ``partition``, ``build``, ``compile``, ``init``, ``solve`` or ``output``."""

    def round(self, number: int, vertices: int, edges: int | None = None, direction: str = "") -> None:
        """Report the end of round ``number`` (from 1), with the size of its frontier over all ranks."""

    def cancelled(self) -> bool:
        """Return True if the run is to end after this round, on all ranks, with :class:`~dgraph.errors.Cancelled`.

        Asked between rounds on every rank; one rank that returns True is enough.
        """
        return False

    def line(self, text: str) -> None:
        """Report a permanent line: the loaded graph, a choice and its reason, a warning."""

    def close(self) -> None:
        """Finish; no call follows. Leaving a ``with`` block calls it."""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error) -> None:
        self.close()
