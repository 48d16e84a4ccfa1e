"""Which connection carries an event: the same for every worker, however far it has read (LH-19)."""

from hypothesis import given
from hypothesis import strategies as st

from django_mcp.events.spans import Span, owner

STREAMS = ("a", "b", "c")


def test_before_the_first_connection_nobody_owns_an_event():
    assert owner([], 5) is None
    assert owner([Span("a", "1", 6)], 5) is None


def test_the_newest_open_connection_owns_it():
    spans = [Span("a", "1", 1), Span("b", "2", 3)]
    assert owner(spans, 2) == spans[0]
    assert owner(spans, 4) == spans[1]


def test_while_none_is_open_the_one_that_ended_last_owns_it():
    spans = [Span("a", "1", 1, 9), Span("b", "2", 3, 5)]
    assert owner(spans, 4) == spans[1]
    assert owner(spans, 7) == spans[0]
    assert owner(spans, 12) == spans[0]


@st.composite
def histories(draw):
    """What happens to a session, by number: streams open, close, are resumed, workers die, events pass.

    A killed worker closes nothing: its connection stays open in the log until its stream is resumed, or another
    worker notices.
    """
    kinds = st.sampled_from(["open", "close", "kill", "notice", "event"])
    steps = draw(st.lists(st.tuples(kinds, st.integers(0, 5)), max_size=40))
    log = []
    alive, killed, ended = [], [], []
    for seq, (step, choice) in enumerate(steps, 1):
        if step == "open":
            back = [*(stream for stream, _ in killed), *ended]
            stream = back[choice % len(back)] if back and choice % 2 else f"s{seq}"
            alive = [one for one in alive if one[0] != stream]
            killed = [one for one in killed if one[0] != stream]
            ended = [one for one in ended if one != stream]
            log.append(("open", seq, stream, f"c{seq}"))
            alive.append((stream, f"c{seq}"))
        elif (step == "close" and alive) or (step == "notice" and killed):
            those = alive if step == "close" else killed
            stream, connection = those.pop(choice % len(those))
            ended.append(stream)
            log.append(("close", seq, stream, connection))
        elif step == "kill" and alive:
            killed.append(alive.pop(choice % len(alive)))
        elif step == "event":
            log.append(("event", seq, "", ""))
    return log


def spans_of(log):
    """The rows, as they are once everything of the log is written."""
    spans = []
    for step, seq, stream, connection in log:
        if step == "open":
            spans = [*ended_at(seq, stream, spans), Span(stream, connection, seq)]
        elif step == "close":
            spans = ended_at(seq, connection, spans)
    return spans


def ended_at(seq, name, spans):
    """With the open connection of this name, or of the stream of this name, closed."""
    return [one._replace(end=seq) if one.end is None and name in (one.stream, one.connection) else one for one in spans]


@given(histories())
def test_a_worker_that_lags_comes_to_the_same_answer(log):
    """What is written after an event changes nothing about it."""
    for place, (step, seq, _, _) in enumerate(log):
        if step == "event":
            early, late = owner(spans_of(log[:place]), seq), owner(spans_of(log), seq)
            assert (early and early.connection) == (late and late.connection)


@given(histories())
def test_a_client_that_comes_back_to_each_stream_has_every_event_once(log):
    """Live on the connection that owned it, or replayed when its stream is resumed."""
    end = log[-1][1] + 1 if log else 1
    spans = spans_of(log)
    first = min((one.start for one in spans), default=end)
    for step, seq, _, _ in log:
        if step != "event" or seq < first:
            continue
        owners = {found.stream for found in [owner(spans, seq)] if found}
        assert len(owners) == 1
        # Resuming every stream finds it in what that stream missed, and in no other one's.
        resumed = spans
        for number, stream in enumerate(sorted({one.stream for one in spans})):
            resumed = [
                one._replace(end=end + number) if one.stream == stream and one.end is None else one for one in resumed
            ]
            resumed.append(Span(stream, f"again-{number}", end + number))
        found = owner(resumed, seq)
        assert found is not None
        assert {found.stream} == owners
