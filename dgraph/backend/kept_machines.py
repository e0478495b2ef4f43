"""Machines of earlier calls on one graph, for the next call of the same program.

A call takes a machine out and puts it back at its end, so that a call inside another one, or one that fails, leaves no
machine in use. Work arrays stay allocated; the columns of a result do not belong to the machine.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Protocol

MOST_MACHINES = 12
"""Most machines of one graph: sssp takes four, bfs two."""


class Kept(Protocol):
    """Part of a machine that is used here."""

    bytes: int
    """Bytes of memory that it holds between calls, of a GPU's where it is a GPU's."""


class KeptMachines:
    """Machines by key, the last used at the end.

    Attributes:
        bytes: of memory that all of them hold.
    """

    def __init__(self) -> None:
        self._machines: OrderedDict[Hashable, tuple[Kept, int]] = OrderedDict()
        self.bytes = 0

    def find(self, key: Hashable) -> Any:
        """Return a machine, which stays in; None: there is none."""
        return self._machines.get(key, (None, 0))[0]

    def take(self, key: Hashable) -> Any:
        """Take a machine out; None: there is none."""
        machine, size = self._machines.pop(key, (None, 0))
        self.bytes -= size
        return machine

    def keep(self, key: Hashable, machine: Kept, most: int) -> None:
        """Keep a machine; drop the longest unused ones beyond the limits.

        Args:
            key: of its program and options.
            machine: one that no call uses.
            most: bytes that all of them may hold.
        """
        size = machine.bytes
        self.take(key)  # a call inside a call may have kept one
        if size > most:
            return
        self._machines[key] = machine, size
        self.bytes += size
        while len(self._machines) > MOST_MACHINES or self.bytes > most:
            self.take(next(iter(self._machines)))

    def clear(self) -> None:
        """Drop all machines."""
        self._machines.clear()
        self.bytes = 0
