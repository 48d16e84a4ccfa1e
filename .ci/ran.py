"""Compares the TEST_RECORD files of all legs: a test that no leg ran proves nothing, and fails here.

A test may be skipped where it does not apply (another database, an older Python), but not everywhere.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path


def main(records: list[str]) -> int:
    outcomes: dict[str, set[str]] = defaultdict(set)
    for record in records:
        for test, outcome in json.loads(Path(record).read_text()).items():
            # Some combinations of parameters never apply; a function that never ran is what counts.
            outcomes[test.partition("[")[0]].add(outcome)
    never = sorted(test for test, seen in outcomes.items() if seen == {"skipped"})
    for test in never:
        print(f"never ran: {test}")
    print(f"{len(outcomes)} tests in {len(records)} legs, {len(never)} never ran")
    return 1 if never or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
