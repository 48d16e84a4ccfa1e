#!/usr/bin/env python
"""What one call costs in process, and where: python benchmarks/profile.py --call sync --top 40"""

import sys
from pathlib import Path


def main() -> None:
    # In place of this folder, whose profile.py is not the one that cProfile imports.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

    from benchmarks.in_process import main

    main()


if __name__ == "__main__":
    main()
