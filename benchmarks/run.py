#!/usr/bin/env python
"""Calls a second of our endpoint beside the official SDK's server: python benchmarks/run.py --quick"""

import sys
from pathlib import Path


def main() -> None:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

    from benchmarks.measure import main

    main()


if __name__ == "__main__":
    main()
