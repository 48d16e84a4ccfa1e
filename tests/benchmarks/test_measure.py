"""A run visits its rows in turn, and what fails in a peer does not end it."""

import pytest

from benchmarks.environments import SDK, Unavailable
from benchmarks.measure import measure
from benchmarks.probes import Sample
from benchmarks.rows import Row
from benchmarks.targets import FLOOR, OURS, Servers
from tests.benchmarks.fakes import FakeProbe, fake_row

TWO = [Sample(1, None), Sample(2, None)]


def run(*rows):
    with Servers() as servers:
        measure(list(rows), servers, rounds=2, seconds=0)


def row(product, **options):
    return Row(f"group/{product}", "group", product, "", FakeProbe(TWO, **options))


def test_each_round_visits_every_row_forwards_and_backwards_in_turn():
    log = []
    first, second = row(OURS, log=log), row(SDK, log=log)
    absent = fake_row(absent="cannot")
    run(first, absent, second)
    one, two = first.probe, second.probe
    assert log == [
        *[("prepare", one), ("prepare", two)],
        *[("sample", one), ("sample", two), ("sample", two), ("sample", one)],
        *[("check", one), ("check", two)],
    ]
    assert first.samples == second.samples == TWO
    assert absent.samples == []


@pytest.mark.parametrize("step", ["prepare", "sample", "check"])
def test_a_peer_that_fails_is_shown_with_the_reason(step, capsys):
    failing, other = row(SDK, fails_in=step, error=RuntimeError("wrk saw\n  | errors")), row(OURS)
    run(failing, other)
    assert failing.absent == "failed: wrk saw / errors"
    assert failing.samples == []
    assert other.samples == TWO
    assert f"group/{SDK}: failed: wrk saw / errors\n" in capsys.readouterr().err


@pytest.mark.parametrize("product", [OURS, SDK])
def test_what_is_not_to_be_had_here_is_shown_with_the_reason(product):
    failing = row(product, fails_in="prepare", error=Unavailable("no PostgreSQL"))
    run(failing)
    assert failing.absent == "no PostgreSQL"


@pytest.mark.parametrize("product", [OURS, FLOOR])
def test_ours_and_the_floors_have_to_answer(product):
    with pytest.raises(RuntimeError, match=f"group/{product} failed") as caught:
        run(row(product, fails_in="check", error=RuntimeError("the wrong answer")))
    assert str(caught.value.__cause__) == "the wrong answer"
