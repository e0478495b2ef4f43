"""Prometheus metrics of the front. Labels hold names from registers and route templates, never text of a request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


MEMORY = {
    "dgraph_front_memory_bytes": "Resident memory of the front",
    "dgraph_rank_memory_bytes": "Resident memory of a rank",
    "dgraph_rank_gpu_memory_bytes": "Memory in use of the GPU of a rank",
    "dgraph_rank_gpu_memory_total_bytes": "Memory of the GPU of a rank",
}
"""Gauges of memory; a rank's are the latest that it sent. A rank without a GPU has no figures of one."""


class _Memory(Collector):
    def __init__(self, read: Callable[[], dict[str, dict[str, float]]]):
        self.read = read

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauges with their values now."""
        for name, by_rank in self.read().items():
            gauge = GaugeMetricFamily(name, MEMORY[name], labels=["rank"] if "" not in by_rank else [])
            for rank, size in by_rank.items():
                gauge.add_metric([rank] if rank else [], size)
            yield gauge


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

    def memory(self, read: Callable[[], dict[str, dict[str, float]]]) -> None:
        """Add gauges of memory in bytes.

        Args:
            read: function that returns name of a gauge → rank, or "" for the front → bytes.
        """
        self.registry.register(_Memory(read))

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
