"""Prometheus metrics of the front. Labels hold names from registers and route templates, never text of a request."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


class Metrics:
    """Counters and gauges of one service, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        make = partial(Counter, registry=self.registry)
        times = partial(Histogram, registry=self.registry, buckets=SECONDS)
        self.jobs = make("dgraph_jobs", "Jobs that ended", ["algorithm", "state"])
        self.seconds = times("dgraph_job_seconds", "Run time of jobs", ["algorithm"])
        self.waited = times("dgraph_job_wait_seconds", "Time of jobs in the queue")
        self.requests = make("dgraph_http_requests", "Requests", ["method", "route", "status"])
        self.cached = make("dgraph_result_cache_hits", "Jobs answered from the result cache")
        self.evicted = make("dgraph_results_evicted", "Results evicted")
        self._requests: dict[tuple[str, str, int], Counter] = {}
        self._ends: dict[tuple[str, str], Counter] = {}
        self._runs: dict[str, Histogram] = {}

    def gauge(self, name: str, text: str, read: Callable[[], float]) -> None:
        """Add a gauge whose value is read when metrics are."""
        Gauge(name, text, registry=self.registry).set_function(read)

    def by_state(self, name: str, text: str, states: tuple[str, ...], read: Callable[[str], float]) -> None:
        """Add a gauge with the label ``state``."""
        gauge = Gauge(name, text, ["state"], registry=self.registry)
        for state in states:
            gauge.labels(state).set_function(partial(read, state))

    def request(self, method: str, route: str, status: int) -> None:
        """Count a request."""
        key = (method if method in METHODS else "other", route, status)
        counter = self._requests.get(key)
        if counter is None:
            counter = self._requests[key] = self.requests.labels(*key)
        counter.inc()

    def job(self, algorithm: str, state: str) -> None:
        """Count the end of a job."""
        key = (algorithm, state)
        counter = self._ends.get(key)
        if counter is None:
            counter = self._ends[key] = self.jobs.labels(*key)
        counter.inc()

    def ran(self, algorithm: str, seconds: float) -> None:
        """Count the run time of a job."""
        histogram = self._runs.get(algorithm)
        if histogram is None:
            histogram = self._runs[algorithm] = self.seconds.labels(algorithm)
        histogram.observe(seconds)

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self.registry)
