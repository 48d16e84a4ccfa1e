#!/usr/bin/env python
"""What tools cost at start, and a page of their list: python benchmarks/startup.py --tools 1000 5000"""

import sys
from pathlib import Path


def main() -> None:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

    from benchmarks.registration import main

    main()


if __name__ == "__main__":
    main()
