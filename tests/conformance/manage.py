#!/usr/bin/env python
"""Run Django's commands, `serve` among them, against the fixture site."""

import os
import sys
from pathlib import Path


def main() -> None:
    # In place of this folder, whose modules are named like installed packages (mcp).
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.conformance.settings"

    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
