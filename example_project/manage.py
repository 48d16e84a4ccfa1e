#!/usr/bin/env python
"""Run Django's commands for the help desk; ``manage.py demo`` is the one to begin with."""

import os
import sys
from pathlib import Path

from django.core.management import execute_from_command_line


def main() -> None:
    # In place of this folder, so that every module has one name: example_project.helpdesk, not helpdesk.
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "example_project.settings")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
