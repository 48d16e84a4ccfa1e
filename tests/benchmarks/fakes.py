"""Rows whose samples are made up."""

from benchmarks.probes import CALLS, Probe, Sample
from benchmarks.rows import Row
from benchmarks.targets import OURS


class FakeProbe(Probe):
    def __init__(self, samples=(), *, unit=CALLS, fails_in=None, error=None, log=None):
        self.unit = unit
        self._samples = iter(samples)
        self._fails_in, self._error = fails_in, error
        self.log = [] if log is None else log

    def prepare(self, servers):
        self._step("prepare")

    def check(self):
        self._step("check")

    def sample(self, seconds):
        self._step("sample")
        return next(self._samples)

    def _step(self, name):
        self.log.append((name, self))
        if name == self._fails_in:
            raise self._error


def fake_row(name="group/ours", *, group="group", product=OURS, how="uvicorn", samples=(), unit=CALLS, absent=""):
    """``samples`` are pairs of a value and CPU microseconds."""
    made = [Sample(*pair) for pair in samples]
    return Row(name, group, product, how, None if absent else FakeProbe(unit=unit), absent, made)
