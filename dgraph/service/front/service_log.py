"""Structured log: one JSON object a line on stderr."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sys
import time
from typing import Any

_log = logging.getLogger("dgraph.service")
_encode = json.JSONEncoder(default=str).encode

SELDOM_S = 10.0
"""Seconds for which further events of one kind that clients without a token cause are counted, not logged."""


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
    logging.getLogger("uvicorn.error").addFilter(_seldom)  # clients without a token cause its warnings
    for name, level in (own, ("uvicorn", logging.WARNING), ("asyncio", logging.ERROR), others):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.WARNING if quiet else level)


def log(event: str, level: int = logging.INFO, **fields: Any) -> None:
    """Log an event with its fields; every job does, so no record is made that asks the stack for its caller."""
    if _log.isEnabledFor(level):
        with contextlib.suppress(OSError):  # a full disk under the log ends no job
            sys.stderr.write(_line(time.time(), logging.getLevelName(level), event, fields) + "\n")


def fault(event: str, **fields: Any) -> None:
    """Log an exception that is being handled, with its traceback."""
    _log.error(event, exc_info=True, extra={"fields": fields})


_counted: dict[str, int] = {}
"""Events of :func:`log_seldom` in the current ``SELDOM_S`` → how many were not logged."""


def log_seldom(event: str, **fields: Any) -> None:
    """Log a warning that any client can cause: the first at once, then the number of others each ``SELDOM_S``."""
    if event in _counted:
        _counted[event] += 1
        return
    log(event, logging.WARNING, **fields)
    _count_on(event)


def _count_on(event: str) -> None:
    _counted[event] = 0
    asyncio.get_running_loop().call_later(SELDOM_S, _log_count, event)


def _log_count(event: str) -> None:
    more = _counted.pop(event)
    if more:
        log(event, logging.WARNING, more=more, seconds=SELDOM_S)
        _count_on(event)


def _seldom(record: logging.LogRecord) -> bool:
    """Pass errors of the HTTP library on; log its warnings by :func:`log_seldom`."""
    if record.levelno > logging.WARNING:
        return True
    log_seldom(record.getMessage())
    return False
