"""What of the requirements is covered by tests, does not apply, or is open.

python tests/spec/report.py            every id, then the numbers
python tests/spec/report.py open       the open ids and the numbers
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.spec.ids import read_citations, read_groups, read_not_applicable

STATES = ("covered", "not applicable", "open")


def report(only: str | None = None) -> list[str]:
    cited, reasons = read_citations(), read_not_applicable()
    lines, summary = [], [f"{'':10}{'':>6}" + "".join(f"{state:>16}" for state in STATES)]
    totals: dict[str, Counter[str]] = {}
    for group in read_groups():
        counts: Counter[str] = Counter()
        for id in group.ids:
            state, about = _state(id, cited, reasons)
            counts[state] += 1
            if only in (None, state):
                lines.append(f"{id:10}{state:16}{about}".rstrip())
        totals.setdefault(group.part, Counter()).update(counts)
        summary.append(_row(group.prefix.rstrip("-"), counts) + f"  {group.about}")
    summary += [_row(part, counts) for part, counts in totals.items()]
    return [*lines, "", *summary]


def _state(id: str, cited: dict[str, list[str]], reasons: dict[str, str]) -> tuple[str, str]:
    if id in cited:
        first, *more = cited[id]
        return "covered", first + (f" and {len(more)} more" if more else "")
    return ("not applicable", reasons[id]) if id in reasons else ("open", "")


def _row(name: str, counts: Counter[str]) -> str:
    return f"{name:10}{counts.total():>6}" + "".join(f"{counts[state]:>16}" for state in STATES)


if __name__ == "__main__":  # pragma: no cover - the test runs it in a process of its own
    sys.stdout.write("\n".join(report(*sys.argv[1:2])) + "\n")
