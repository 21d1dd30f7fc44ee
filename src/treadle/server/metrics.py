"""Metrics for Prometheus. Every name begins with `treadle_`; labels are names that a contract declares.

What this process answers is counted as it goes; what the database holds comes from `sampling`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from treadle import __version__
from treadle.errors import Refused, TreadleError
from treadle.server.sampling import COUNTERS, Sample, Sampler

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30)

HELP: Final = {
    "commands": "Commands in the log, by command and outcome (or terminal failure).",
    "claims": "Claims in the log, by workflow and result: won, or the clause that refused.",
    "retries": "Claims that won an item which had been claimed before.",
    "leases_lost": "Leases that ran out and were taken over by another claim.",
    "leases_expired": "Leases that were ended by an expire operation.",
    "fenced_writes": "Writes that were refused because the caller's lease no longer held.",
    "records": "Records of the log, by kind.",
}
"""What each counter of `sampling.COUNTERS` counts, since this process started."""


class Metrics:
    """What a process counts of its own answers."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._requests = Counter(
            "treadle_http_requests", "Requests answered.", ("route", "method", "status"), registry=registry
        )
        self._seconds = Histogram(
            "treadle_http_request_seconds", "From a request's head to the end of its answer.", ("route",),
            registry=registry, buckets=BUCKETS,
        )  # fmt: skip
        self._replays = Counter(
            "treadle_replays", "Stored answers given again by this process, by command.", ("command",),
            registry=registry,
        )  # fmt: skip
        self._problems = Counter(
            "treadle_problems", "Problems answered, by code.", ("code",), registry=registry
        )
        self._refusals = Counter(
            "treadle_guard_refusals", "Updates that the graph's guard refused, by reason.", ("reason",),
            registry=registry,
        )  # fmt: skip
        info = Gauge("treadle_build_info", "The version that runs.", ("version",), registry=registry)
        info.labels(__version__).set(1)
        self._children: dict[tuple[Any, ...], Any] = {}

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        key = (route, method, status)
        pair = self._children.get(key)
        if pair is None:
            pair = self._requests.labels(route, method, str(status)), self._seconds.labels(route)
            self._children[key] = pair
        pair[0].inc()
        pair[1].observe(seconds)

    def answered(self, command: str, answer: Any) -> None:
        """Count a command's answer; the command is one that the contract declares."""
        if getattr(answer, "replayed", False):
            self._replays.labels(command).inc()

    def problem(self, error: TreadleError) -> None:
        """Count a problem, and a refusal of the guard by its reason."""
        self._problems.labels(error.code).inc()
        if isinstance(error, Refused):
            self._refusals.labels(error.reason).inc()

    def observe(self, sampler: Sampler, process: Process) -> None:
        """Add what the store and this process say of themselves when they are asked."""
        self.registry.register(_Sampled(sampler))
        self.registry.register(_Process(process))

    def render(self) -> bytes:
        """The text that Prometheus reads; samples the store."""
        return generate_latest(self.registry)


class Process:
    """What a process holds now; asked at each sample."""

    def gauges(self) -> dict[str, tuple[str, float]]:
        """Values by name, each with what it is."""
        raise NotImplementedError


class _Process(Collector):
    def __init__(self, process: Process) -> None:
        self._process = process

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        for name, (text, value) in self._process.gauges().items():
            yield GaugeMetricFamily(f"treadle_{name}", text, value=value)


class _Sampled(Collector):
    """What the store says, as metrics."""

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        sample = self._sampler.sample()
        yield from _counters(sample)
        yield from _items(sample)
        yield GaugeMetricFamily("treadle_log_head", "The number of the last log record.", value=sample.head)
        yield GaugeMetricFamily(
            "treadle_sample_lag_records", "Log records that the counters do not hold yet.", value=sample.lag
        )
        yield GaugeMetricFamily(
            "treadle_clock_floor_seconds",
            "How far the last commit's time is ahead of the clock (negative: behind it).",
            value=sample.floor,
        )
        if sample.wal is not None:
            yield GaugeMetricFamily("treadle_wal_bytes", "Size of the write-ahead log.", value=sample.wal)


def _counters(sample: Sample) -> Iterator[Metric]:
    for name, labels in COUNTERS.items():
        family = CounterMetricFamily(f"treadle_{name}", HELP[name], labels=labels)
        for values, count in sorted(sample.counters[name].items()):
            family.add_metric(values, count)
        yield family


def _items(sample: Sample) -> Iterator[Metric]:
    states = GaugeMetricFamily("treadle_items", "Items, by workflow and state.", labels=("workflow", "state"))
    held = GaugeMetricFamily("treadle_leases_held", "Leases that last.", labels=("workflow",))
    lapsed = GaugeMetricFamily(
        "treadle_leases_lapsed", "Leases whose time is over and that nobody has taken.", labels=("workflow",)
    )
    oldest = GaugeMetricFamily(
        "treadle_oldest_ready_seconds",
        "Age of what has waited longest: open, and in nobody's lease; 0 when nothing waits.",
        labels=("workflow",),
    )
    for each in sample.items:
        for state, count in each.states.items():
            states.add_metric((each.workflow, state), count)
        held.add_metric((each.workflow,), each.held)
        lapsed.add_metric((each.workflow,), each.lapsed)
        oldest.add_metric((each.workflow,), each.oldest or 0.0)
    yield from (states, held, lapsed, oldest)
