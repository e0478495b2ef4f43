"""Structured log: one JSON object a line on stderr."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any

_log = logging.getLogger("dgraph.service")


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """Return a record as a line of JSON."""
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def begin(quiet: bool = False) -> None:
    """Send the log of the service and of uvicorn to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    for name, level in (("dgraph.service", logging.INFO), ("uvicorn", logging.WARNING), ("asyncio", logging.ERROR)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.WARNING if quiet else level)


def log(event: str, level: int = logging.INFO, **fields: Any) -> None:
    """Log an event with its fields."""
    if _log.isEnabledFor(level):
        _log.log(level, event, extra={"fields": fields})


def fault(event: str, **fields: Any) -> None:
    """Log an exception that is being handled, with its traceback."""
    _log.error(event, exc_info=True, extra={"fields": fields})
