"""manage.py demo and manage.py mcp_stdio as a newcomer starts them, driven by the official client in both eras."""

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import httpx2
import mcp_types as wire
import pytest
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

import example_project
from tests.clients.node import installed_node
from tests.conformance.served import free_port

pytestmark = pytest.mark.integration

MANAGE = Path(example_project.__file__).with_name("manage.py")
LIMIT = 120
ERAS = {"legacy": "2025-11-25", "2026-07-28": "2026-07-28"}


class Demo:
    """The command on a database of its own, from its first line until Ctrl-C."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {**os.environ, "HELPDESK_DATABASE": str(folder / "desk.sqlite3")}
        self.environment.pop("DJANGO_SETTINGS_MODULE", None)

    def __enter__(self):
        port = free_port()
        self.log = self.folder / "demo.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(MANAGE), "demo", "--port", str(port)],
                cwd=self.folder,
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                preexec_fn=_hear_interrupts,
            )
        assert self.process.stdout is not None
        give_up = threading.Timer(LIMIT, self.process.kill)
        give_up.start()
        self.lines = []
        while not self.lines or "mcp_stdio" not in self.lines[-1]:
            line = self.process.stdout.readline()
            assert line, self.log.read_text()
            self.lines.append(line.strip())
        give_up.cancel()
        return self

    def __exit__(self, *exception):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(LIMIT)
        finally:
            self.process.kill()
            self.process.communicate()
        assert self.process.returncode == 0, self.log.read_text()

    def value(self, label):
        [line] = [line for line in self.lines if line.startswith(label)]
        return line.removeprefix(label).strip()


def _hear_interrupts():
    """A shell starts what runs in its background deaf to them, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    with Demo(tmp_path_factory.mktemp("desk")) as running:
        yield running


@pytest.mark.parametrize("era", ERAS)
def test_the_official_client_uses_all_of_it(demo, era):
    """M10, S262."""

    async def main():
        headers = {"Authorization": f"Bearer {demo.value('Token:')}"}
        async with asyncio.timeout(LIMIT), httpx2.AsyncClient(headers=headers) as http:
            transport = streamable_http_client(demo.value("MCP endpoint:"), http_client=http)
            async with Client(transport, mode=era, elicitation_callback=person(demo)) as client:
                await use_everything(client, era)

    asyncio.run(main())


@pytest.mark.parametrize("era", ERAS)
def test_a_client_that_starts_the_server_sees_the_same_data(demo, era):
    """M10, S262."""

    async def main():
        arguments = [str(MANAGE), "mcp_stdio", "--user", "agent"]
        environment = {**demo.environment, "HELPDESK_URL": demo.value("MCP endpoint:").removesuffix("/mcp")}
        server = StdioServerParameters(command=sys.executable, args=arguments, env=environment, cwd=demo.folder)
        async with (
            asyncio.timeout(LIMIT),
            Client(server, mode=era, elicitation_callback=person(demo)) as client,
        ):
            await use_everything(client, era)

    asyncio.run(main())


@pytest.fixture(scope="module")
def workers(demo):
    """The address of several workers that serve the same data."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "example_project.asgi:application", "--lifespan", "off"]
    log = demo.folder / "workers.log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [*command, "--workers", "3", "--port", str(port)],
            cwd=MANAGE.parents[1],
            env={**demo.environment, "DJANGO_SETTINGS_MODULE": "example_project.settings"},
            stdout=errors,
            stderr=errors,
        )
    try:
        until_served(f"http://127.0.0.1:{port}", process, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(LIMIT)


def until_served(site, process, log):
    end = time.monotonic() + LIMIT
    while True:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < end
        with suppress(httpx2.TransportError):
            httpx2.get(f"{site}/admin/login/", timeout=LIMIT)
            return
        time.sleep(0.1)


@pytest.mark.parametrize("era", ERAS)
def test_a_page_may_meet_another_worker_than_the_call_that_asks(demo, workers, era):
    """S2C-04, MRTR-09: each request has a connection of its own, which any of three workers takes."""

    async def main():
        headers = {"Authorization": f"Bearer {demo.value('Token:')}"}
        limits = httpx2.Limits(max_keepalive_connections=0)
        async with asyncio.timeout(LIMIT), httpx2.AsyncClient(headers=headers, limits=limits, timeout=LIMIT) as http:
            transport = streamable_http_client(f"{workers}/mcp", http_client=http)
            async with Client(transport, mode=era, elicitation_callback=person(demo)) as client:
                ticket = {"queue": "app", "subject": "Broken", "description": "In two.", "customer": EMAIL}
                number = (await called(client, "open_ticket", **ticket))["number"]
                refunds = [called(client, "arrange_refund", number=number, amount=amount) for amount in range(1, 9)]
                for amount, notes in enumerate(await asyncio.gather(*refunds), start=1):
                    assert f"Refund of {amount}.00 €" in str(notes)

    asyncio.run(main())


def test_people_find_the_admin_with_its_styles(demo):
    site = demo.value("MCP endpoint:").removesuffix("/mcp")
    assert httpx2.get(f"{site}/admin/login/").status_code == 200
    assert httpx2.get(f"{site}/static/admin/css/base.css").status_code == 200


def test_it_runs_again_on_the_same_data(tmp_path):
    tokens = []
    for said in ("Seeded: ", "Left alone: "):
        with Demo(tmp_path) as demo:
            assert demo.value(said).startswith("1200 tickets")
            tokens.append(demo.value("Token:"))
    assert tokens[0] != tokens[1]


def test_the_line_for_the_inspector_lists_the_tools(demo, tmp_path):
    [line] = [line for line in demo.lines if line.startswith("npx ")]
    words = shlex.split(line)
    assert words[:2] == ["npx", "@modelcontextprotocol/inspector@latest"]
    node = installed_node()
    script = node.package("@modelcontextprotocol/inspector", "clients/launcher/build/index.js")
    answer = json.loads(said(node.command(script, *words[2:]), tmp_path))
    assert len(answer["tools"]) == 13


def test_the_entry_for_cursor_serves_other_clients_too(demo, tmp_path):
    [entry] = [line for line in demo.lines if line.startswith('{"mcpServers"')]
    config = tmp_path / "mcp.json"
    config.write_text(entry)
    fastmcp = Path(sys.executable).with_name("fastmcp")
    listed = json.loads(said([str(fastmcp), "list", str(config), "--json"], tmp_path))
    assert len(listed["tools"]) == 13


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_mcpdo_calls_a_tool(demo, tmp_path, era):
    node = installed_node()
    mcpdo = node.command(node.package("@modelcontextprotocol/inspector", "clients/mcpdo/build/mcp-bin.js"))
    url = demo.value("MCP endpoint:")
    bearer = f"Authorization: Bearer {demo.value('Token:')}"
    try:
        connected = said([*mcpdo, "connect", url, "--era", era, "--header", bearer], tmp_path)
        assert f"Era: {era}" in connected
        answer = said([*mcpdo, "tools/call", "list_queues", "--connection", url], tmp_path)
        assert "Workshop and warranty" in answer
    finally:
        said([*mcpdo, "daemon", "stop"], tmp_path)


def person(demo):
    """Opens the page on which a tool asks, logs in as the agent and fills it in."""
    line = demo.value("Agent, for pages on which tools ask: log in as")
    agent, password = line.split(" with the password ")

    async def elicited(context, params):
        limits = httpx2.Limits(max_keepalive_connections=0)
        async with httpx2.AsyncClient(follow_redirects=True, timeout=LIMIT, limits=limits) as browser:
            login = await browser.get(params.url)
            page = await send(browser, login, {"username": agent, "password": password})
            done = await send(browser, page, {"iban": "DE02120300000000202051"})
            assert "You may close this page." in done.text
        return wire.ElicitResult(action="accept")

    async def send(browser, page, fields):
        token = browser.cookies["csrftoken"]
        return await browser.post(str(page.url), data={**fields, "csrfmiddlewaretoken": token})

    return elicited


def said(command, home):
    """What a program printed. It writes its own files into ``home``."""
    environment = {**os.environ, "HOME": str(home), "NO_COLOR": "1"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


async def use_everything(client, era):
    """Call every tool the agent has, read every resource, get every prompt."""
    assert client.protocol_version == ERAS[era]
    listed = (await client.list_tools()).tools
    number = (await called(client, "search_tickets", queue="workshop", limit=1))["tickets"][0]["number"]
    ticket = {"queue": "app", "subject": "No signal", "description": "None at all.", "customer": EMAIL}
    first, second = [(await called(client, "open_ticket", **ticket))["number"] for _ in range(2)]
    calls = {
        "search_tickets": {},
        "open_ticket": ticket,
        "get_ticket": {"number": number},
        "list_queues": {},
        "find_customers": {"text": "Albrecht"},
        "find_duplicates": {"queue": "app", "days": 3},
        "draw_ticket_chart": {},
        "add_comment": {"number": first, "text": "We are on it."},
        "assign_ticket": {"number": first, "agent": "agent"},
        "attach_text": {"number": first, "name": "log.txt", "text": "-"},
        "set_status": {"number": first, "status": "open"},
        "merge_tickets": {"keep": first, "duplicate": second},
        "arrange_refund": {"number": first, "amount": 12.5},
    }
    assert sorted(tool.name for tool in listed) == sorted(calls)
    for name, arguments in calls.items():
        await called(client, name, **arguments)
    uris = [resource.uri for resource in (await client.list_resources()).resources]
    for uri in [*uris, f"helpdesk://tickets/{first}", f"helpdesk://tickets/{first}/attachments/log.txt"]:
        assert (await client.read_resource(uri)).contents[0].text
    assert len((await client.list_resource_templates()).resource_templates) == 2
    prompts = {"draft_reply": {"number": str(first)}, "triage_queue": {"queue": "app"}}
    prompts["report_problem"] = {"product": "Minnow 20"}
    assert sorted(prompt.name for prompt in (await client.list_prompts()).prompts) == sorted(prompts)
    for name, arguments in prompts.items():
        assert (await client.get_prompt(name, arguments)).messages
    reference = wire.PromptReference(name="triage_queue")
    offered = await client.complete(reference, {"name": "queue", "value": "bi"})
    assert offered.completion.values == ["billing"]


EMAIL = "customer@veloworks.example"


async def called(client, name, /, **arguments):
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result
    return result.structured_content
