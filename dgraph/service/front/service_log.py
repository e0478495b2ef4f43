"""Structured log: one JSON object a line on stderr."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any

_log = logging.getLogger("dgraph.service")
_encode = json.JSONEncoder(default=str).encode


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """Return a record as a line of JSON."""
        fields = getattr(record, "fields", {})
        if record.exc_info:
            fields = {**fields, "traceback": self.formatException(record.exc_info)}
        return _line(record.created, record.levelname, record.getMessage(), fields)


def _line(now: float, level: str, event: str, fields: dict[str, Any]) -> str:
    """Return a line of JSON."""
    time_of_day = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03}Z"
    return _encode({"time": time_of_day, "level": level.lower(), "event": event, **fields})


def begin(quiet: bool = False) -> None:
    """Send the log of the service and of its libraries to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    own, others = ("dgraph.service", logging.INFO), ("", logging.WARNING)
    for name, level in (own, ("uvicorn", logging.WARNING), ("asyncio", logging.ERROR), others):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.WARNING if quiet else level)


def log(event: str, level: int = logging.INFO, **fields: Any) -> None:
    """Log an event with its fields; every job does, so no record is made that asks the stack for its caller."""
    if _log.isEnabledFor(level):
        sys.stderr.write(_line(time.time(), logging.getLevelName(level), event, fields) + "\n")


def fault(event: str, **fields: Any) -> None:
    """Log an exception that is being handled, with its traceback."""
    _log.error(event, exc_info=True, extra={"fields": fields})
