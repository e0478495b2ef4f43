"""Attribute whose value all handles of the same edges share."""

from __future__ import annotations

from typing import Any


class SharedAttribute:
    """Attribute whose value all handles of the same edges share (see ``Graph.on``)."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, graph: Any, owner: type) -> Any:
        if graph is None:
            return self
        graph._check_open()
        return graph._shared.get(self.name)

    def __set__(self, graph: Any, value: Any) -> None:
        graph._shared[self.name] = value
