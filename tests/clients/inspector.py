"""The Inspector on the command line: one process a request, so it takes some of the steps only."""

import json
import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .drivers import LIMIT, STEPS, Report, Site
from .node import installed_node

LISTS = {
    "tools": ("tools", "name"),
    "resources": ("resources", "uri"),
    "templates": ("resourceTemplates", "uriTemplate"),
    "prompts": ("prompts", "name"),
}
METHODS = {"templates": "resources/templates/list"}
CALLS = [step for step in STEPS["calls"] if step["name"] in ("test_error_handling", "test_x_mcp_header")]
READS = STEPS["reads"][-1:]
PROMPTS = [step for step in STEPS["prompts"] if len(step["arguments"]) > 1]
AT_ONCE = 2


def inspector(site: Site, mode: str) -> Report:
    """``results`` are whole and in the order of CALLS, READS and PROMPTS."""
    requests = [
        *([METHODS.get(kind, f"{kind}/list")] for kind in LISTS),
        *(["tools/call", "--tool-name", step["name"], *_pairs("--tool-arg", step["arguments"])] for step in CALLS),
        *(["resources/read", "--uri", step["uri"]] for step in READS),
        *(
            ["prompts/get", "--prompt-name", step["name"], *_pairs("--prompt-args", step["arguments"])]
            for step in PROMPTS
        ),
    ]
    with tempfile.TemporaryDirectory() as home, ThreadPoolExecutor(AT_ONCE) as pool:
        config = Path(home) / "config.json"
        config.write_text(json.dumps({"mcpServers": {"site": entry_of(site)}}))
        answers = list(pool.map(lambda request: _asked(home, config, mode, request), requests))
    listed = {
        kind: [each[name] for each in answer[key]]
        for (kind, (key, name)), answer in zip(LISTS.items(), answers, strict=False)
    }
    return {"listed": listed, "results": answers[len(LISTS) :]}


def entry_of(site: Site) -> dict[str, Any]:
    if isinstance(site, str):
        return {"type": "streamable-http", "url": site}
    return {"type": "stdio", **asdict(site)}


def _pairs(option: str, arguments: dict[str, str]) -> list[str]:
    return [word for name, value in arguments.items() for word in (option, f"{name}={value}")]


def _asked(home: str, config: Path, mode: str, request: list[str]) -> dict[str, Any]:
    node = installed_node()
    script = node.package("@modelcontextprotocol/inspector", "clients/launcher/build/index.js")
    era = mode if mode in ("legacy", "auto") else "modern"
    options = ["--cli", "--config", str(config), "--server", "site", "--protocol-era", era, "--method", *request]
    # It writes into its home.
    environment = {**os.environ, "HOME": home}
    run = subprocess.run(
        node.command(script, *options), env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert run.stdout, run.stderr
    # A result that is an error is followed by a second object, on standard error.
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer
