"""Server-sent events of a job: its states, phases and rounds, each with an id for Last-Event-ID."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from dgraph.service.front.jobs.job import ENDED, Job

BEAT_S = 15.0
"""Seconds after which a comment is sent, so that proxies keep the connection."""


def event_text(number: int, kind: str, fields: dict) -> str:
    """Return an event as the protocol writes it."""
    return f"id: {number}\nevent: {kind}\ndata: {json.dumps(fields, separators=(',', ':'), default=str)}\n\n"


async def events_of(job: Job, after: int, ending: asyncio.Event) -> AsyncIterator[str]:
    """Yield the events of a job after a number, until it has ended or the service ends."""
    news = asyncio.Event()
    job.listeners.append(news)
    try:
        yield "retry: 1000\n\n"
        while True:
            news.clear()
            for number, kind, fields in list(job.events):
                if number > after:
                    after = number
                    yield event_text(number, kind, fields)
            if (job.state in ENDED and after >= job.event_count) or ending.is_set():
                return
            try:
                async with asyncio.timeout(BEAT_S):
                    await news.wait()
            except TimeoutError:
                yield ": waiting\n\n"
    finally:
        job.listeners.remove(news)
