"""``RemoteJob``: a run that a service has accepted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from dgraph.errors import OutputError, UsageError
from dgraph.service.client.http_link import Link
from dgraph.service.client.problems import error_of_job

if TYPE_CHECKING:
    from dgraph.service.client.remote_result import RemoteResult

ENDED = ("done", "failed", "cancelled")
"""States in which a job stays."""

POLL_S = 1.0
"""Longest pause between two looks at a job, where its events cannot be followed."""


class RemoteJob:
    """A job of a service.

    Attributes:
        id: its id.
        record: the service's record of it, as it was last received.
    """

    def __init__(self, link: Link, record: dict[str, Any], request: dict[str, Any] | None = None):
        self._link, self._request = link, request
        self.id: str = record["id"]
        self.record = record

    @property
    def state(self) -> str:
        """State when it was last received: queued, running, done, failed or cancelled."""
        return self.record["state"]

    def refresh(self) -> RemoteJob:
        """Ask the service for the record, and return the job."""
        self.record = self._link.call("GET", f"/v1/jobs/{self.id}")
        return self

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield the job's events, from its first to its end: phases, and rounds with their active vertices."""
        for _, event in self._link.events(f"/v1/jobs/{self.id}/events"):
            yield event

    def cancel(self) -> None:
        """Cancel the job, which ends within one round; no effect if it has ended."""
        self._link.call("DELETE", f"/v1/jobs/{self.id}", ended="keep")

    def drop(self) -> None:
        """Remove the job, which has ended, and its rows from the service; one that has not is cancelled, and stays."""
        self._link.call("DELETE", f"/v1/jobs/{self.id}")

    @property
    def interrupted(self) -> bool:
        """True if it failed because the service or its ranks ended."""
        return (self.record.get("error") or {}).get("kind") in ("RanksDied", "Restarted")

    def submit_again(self, same_version: bool = False) -> bool:
        """Submit the run again, as this job; return False if this client is not patient, or did not submit it.

        Args:
            same_version: True to run on the version that it ran on, for more rows of an answer.
        """
        if self._request is None or not self._link.patience:
            return False
        more = {"version": self.record["version"]} if same_version else {}
        self.record = self._link.call("POST", "/v1/jobs", self._request | more, top=1)
        self.id = self.record["id"]
        return True

    def recover(self) -> bool:
        """Run the job again, whose rows are gone; return False as of :meth:`submit_again`."""
        until = time.monotonic() + self._link.patience
        while self.submit_again(same_version=True):
            try:
                self.wait()
                return True
            except OutputError:
                if not self.interrupted or time.monotonic() >= until:
                    raise
        return False

    def wait(self, seen: Callable[[dict[str, Any]], None] | None = None) -> RemoteJob:
        """Wait for the job's end; a ``KeyboardInterrupt`` cancels the job.

        Args:
            seen: called with every event.

        Raises:
            DgraphError: the job failed or was cancelled; the class is that of the service's error.
        """
        pause = 0.01
        try:
            while self.state not in ENDED:
                try:
                    for event in self.events():
                        if seen is not None:
                            seen(event)
                except OutputError:  # the stream broke; the record says whether the service is still there
                    pass
                if self.refresh().state not in ENDED:
                    time.sleep(pause)
                    pause = min(pause * 2, POLL_S)
        except KeyboardInterrupt:
            self.cancel()
            raise
        if self.state != "done":
            raise error_of_job(self.id, self.state, self.record.get("error"))
        return self

    def result(self) -> RemoteResult:
        """Wait for the job's end and return its result; columns are fetched when they are read."""
        from dgraph.service.client.remote_result import RemoteResult

        return RemoteResult(self.wait(), self._link)

    def report(self) -> dict[str, Any]:
        """Return the report of the run, as ``dgraph/report/schema.json`` describes it; {} if it is no longer kept."""
        try:
            return self._link.call("GET", f"/v1/jobs/{self.id}/report")
        except UsageError:
            return {}

    def __repr__(self) -> str:
        named = {key: self.record.get(key) for key in ("algorithm", "graph", "round")}
        details = "".join(f", {key} {value}" for key, value in named.items() if value is not None)
        return f"<Job {self.id}: {self.state}{details}>"
