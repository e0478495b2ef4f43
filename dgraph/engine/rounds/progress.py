"""What a run tells while it goes. This one says nothing; the command line has two that speak."""

from __future__ import annotations


class Progress:
    """Called by rank 0's run, or by every rank's: an implementation decides who speaks. Calls must be cheap."""

    def phase(self, name: str, detail: str = "") -> None:
        """A phase begins: ``load``, ``partition``, ``build``, ``compile``, ``init``, ``solve``, ``output``."""

    def round(self, number: int, vertices: int, edges: int | None = None, direction: str = "") -> None:
        """Round ``number`` (from 1) ended; its frontier had ``vertices`` and ``edges`` over all ranks."""

    def line(self, text: str) -> None:
        """A line that stays: the load line, a choice and its reason, a warning."""

    def close(self) -> None:
        """Nothing more will come; also the end of a ``with`` block."""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error) -> None:
        self.close()
