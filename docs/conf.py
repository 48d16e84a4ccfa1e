"""Sphinx: furo, Markdown through MyST, and no reference that leads nowhere."""

import tomllib
from pathlib import Path

project = "django-mcp-sdk"
author = "The django-mcp-sdk authors"
release = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]["version"]

extensions = ["myst_parser"]
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = "django-mcp-sdk"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nitpicky = True
# A definition is shown with the name it is imported by, which is long enough.
add_function_parentheses = False
toc_object_entries = False
python_use_unqualified_type_names = True
