"""Metrics for Prometheus. Every name begins with `treadle_`; labels are names that a contract declares.

What this process answers is counted as it goes; what the database holds comes from `sampling`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from treadle.errors import Refused, TreadleError
from treadle.server.sampling import COUNTERS, Sample, Sampler
from treadle.version import __version__

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
    """What a process counts of its own answers, on its loop alone, and so without a lock."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests: Counter[tuple[str, str, str]] = Counter()
        self._durations: dict[str, Durations] = {}
        self._replays: Counter[tuple[str]] = Counter()
        self._problems: Counter[tuple[str]] = Counter()
        self._refusals: Counter[tuple[str]] = Counter()
        self.registry.register(_Answers(self.families))

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self._requests[route, method, str(status)] += 1
        durations = self._durations.get(route)
        if durations is None:
            durations = self._durations[route] = Durations()
        durations.add(seconds)

    def answered(self, command: str, answer: Any) -> None:
        """Count a command's answer; the command is one that the contract declares."""
        if getattr(answer, "replayed", False):
            self._replays[command,] += 1

    def problem(self, error: TreadleError) -> None:
        """Count a problem, and a refusal of the guard by its reason."""
        self._problems[error.code,] += 1
        if isinstance(error, Refused):
            self._refusals[error.reason,] += 1

    def observe(self, sampler: Sampler, process: Process) -> None:
        """Add what the store and this process say of themselves when they are asked."""
        self.registry.register(_Answers(lambda: sampled(sampler.sample())))
        self.registry.register(_Answers(lambda: gauges(process)))

    def render(self) -> bytes:
        """The text that Prometheus reads; samples the store."""
        return generate_latest(self.registry)

    def families(self) -> Iterator[Metric]:
        """What was counted, as metrics."""
        for name, text, labels, counts in (
            ("http_requests", "Requests answered.", ("route", "method", "status"), self._requests),
            ("replays", "Stored answers given again, by command.", ("command",), self._replays),
            ("problems", "Problems answered, by code.", ("code",), self._problems),
            ("guard_refusals", "Updates that the graph's guard refused.", ("reason",), self._refusals),
        ):
            yield counter(name, text, labels, counts)
        family = HistogramMetricFamily(
            "treadle_http_request_seconds",
            "From a request's head to the end of its answer.",
            labels=("route",),
        )
        for route, durations in sorted(self._durations.items()):
            family.add_metric((route,), durations.buckets(), durations.total)
        yield family
        info = GaugeMetricFamily("treadle_build_info", "The version that runs.", labels=("version",))
        info.add_metric((__version__,), 1)
        yield info


class Durations:
    """How many requests took how long, in seconds."""

    def __init__(self) -> None:
        self._counts = [0] * (len(BUCKETS) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        """Count one request."""
        self._counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds

    def buckets(self) -> list[tuple[str, float]]:
        """For each bound, how many were not longer."""
        bounds = [*map(str, BUCKETS), "+Inf"]
        return list(zip(bounds, map(float, accumulate(self._counts)), strict=True))


def counter(name: str, text: str, labels: Sequence[str], counts: Mapping[Any, int]) -> Metric:
    """A counter with these labels."""
    family = CounterMetricFamily(f"treadle_{name}", text, labels=labels)
    for values, count in sorted(counts.items()):
        family.add_metric(values, count)
    return family


class _Answers(Collector):
    """Metrics that are made when they are asked for."""

    def __init__(self, make: Callable[[], Iterable[Metric]]) -> None:
        self._make = make

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterable[Metric]:
        return self._make()


class Process:
    """What a process holds now; asked at each sample."""

    def gauges(self) -> dict[str, tuple[str, float]]:
        """Values by name, each with what it is."""
        raise NotImplementedError


def gauges(process: Process) -> Iterator[Metric]:
    """What a process holds, as metrics."""
    for name, (text, value) in process.gauges().items():
        yield GaugeMetricFamily(f"treadle_{name}", text, value=value)


def sampled(sample: Sample) -> Iterator[Metric]:
    """What the store says, as metrics."""
    for name, labels in COUNTERS.items():
        yield counter(name, HELP[name], labels, sample.counters[name])
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
