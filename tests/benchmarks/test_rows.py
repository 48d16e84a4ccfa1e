"""The table of the benchmarks: what is in it, and how rows are chosen."""

from itertools import groupby

import pytest

from benchmarks.environments import FASTMCP, MCPZ, SDK
from benchmarks.measure import _options
from benchmarks.rows import QUICK, all_rows, select
from benchmarks.targets import OURS

NAMES = [row.name for row in all_rows()]


def test_every_row_has_a_name_of_its_own_and_either_a_probe_or_a_reason():
    assert len(set(NAMES)) == len(NAMES)
    assert all((row.probe is None) == bool(row.absent) for row in all_rows())


def test_each_group_is_in_one_piece_and_begins_with_ours():
    groups = [(title, list(rows)) for title, rows in groupby(all_rows(), lambda row: row.group)]
    assert len({title for title, _ in groups}) == len(groups)
    assert all(rows[0].product == OURS and rows[0].probe for _, rows in groups)


def test_every_peer_is_measured_somewhere():
    assert {SDK, FASTMCP, MCPZ} <= {row.product for row in all_rows() if row.probe}


def test_the_quick_rows_exist_and_one_of_them_is_a_peers():
    assert set(QUICK) <= set(NAMES)
    assert [row.name for row in _options(["--quick"]).rows] == [name for name in NAMES if name in QUICK]
    assert any(row.product == SDK for row in _options(["--quick"]).rows)


def test_a_word_selects_the_rows_whose_name_contains_it():
    assert [row.name for row in select(all_rows(), ["legacy/ours", "stdio-start/sdk"])] == [
        "legacy/ours/sqlite",
        "legacy/ours/postgres",
        "stdio-start/sdk",
    ]


def test_a_wildcard_has_to_fit_the_whole_name():
    assert {row.name for row in select(all_rows(), ["list*"])} == {name for name in NAMES if name.startswith("list")}
    assert [row.name for row in select(all_rows(), ["*-token/ours"])] == ["modern-token/ours", "wsgi-token/ours"]


def test_a_word_that_no_row_fits_is_refused_with_the_names():
    with pytest.raises(ValueError, match=r"No row fits 'lagacy'.*\nmodern-async/ours/uvicorn\n"):
        select(all_rows(), ["legacy", "lagacy"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--write-docs", "--quick"], "The documentation shows every row"),
        (["--write-docs", "--only", "legacy"], "The documentation shows every row"),
        (["--only", "lagacy"], "No row fits 'lagacy'"),
        (["--rounds", "0"], "--rounds is 0"),
        (["--seconds", "-1"], "--seconds is -1"),
    ],
)
def test_options_that_make_no_sense_are_refused(arguments, said, capsys):
    with pytest.raises(SystemExit):
        _options(arguments)
    assert said in capsys.readouterr().err


def test_the_names_can_be_listed(capsys):
    with pytest.raises(SystemExit):
        _options(["--list", "--only", "wsgi-token"])
    assert capsys.readouterr().out == "wsgi-token/ours\nwsgi-token/mcpz\n"
