"""Run outside the repository with an interpreter that has only the wheel: a site made of it migrates and answers."""

import asyncio
import json
import tempfile
from pathlib import Path

import django
from django.conf import settings
from django.core.management import call_command
from django.urls import include, path


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings.configure(
            SECRET_KEY="wheel",
            ALLOWED_HOSTS=["localhost"],
            ROOT_URLCONF=__name__,
            DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{folder}/db.sqlite3"}},
            INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django_mcp"],
            DJANGO_MCP={"AUTHENTICATION": "django_mcp.auth.AllowAny"},
        )
        django.setup()
        call_command("migrate", verbosity=0)
        call_command("makemigrations", check=True, dry_run=True, verbosity=0)
        import django_mcp

        assert (Path(django_mcp.__file__).parent / "py.typed").exists()
        django_mcp.tool(add)
        print(asyncio.run(discovered()))


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


urlpatterns = [path("mcp", include("django_mcp.urls"))]


async def discovered() -> object:
    from django_mcp.asgi import get_asgi_application

    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "add", "arguments": {"a": 2, "b": 3}, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    headers = {
        "host": "localhost",
        "content-type": "application/json",
        "accept": "application/json",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "add",
    }
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    sent = []

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    received = [{"type": "http.request", "body": body}]

    async def receive() -> dict[str, object]:
        if received:
            return received.pop()
        await asyncio.Event().wait()
        raise AssertionError

    await asyncio.wait_for(get_asgi_application()(scope, receive, send), 10)
    assert sent[0]["status"] == 200, sent
    answer = json.loads(b"".join(message.get("body", b"") for message in sent))
    assert answer["result"]["content"][0]["text"] == "5", answer
    return answer


if __name__ == "__main__":
    main()
