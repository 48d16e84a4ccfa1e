"""A server of its own, so that the names do not meet the fixture contract."""

import logging
import os
import subprocess
import sys
import warnings

from django_mcp import Context, MCPServer

print("stray: mcp.py", flush=True)
noisy = MCPServer("noisy")


@noisy.tool(name="noisy")
def be_noisy() -> str:
    """Writes everywhere but to the client."""
    print("stray: print 😀")
    sys.stdout.write("stray: sys.stdout.write\n")
    sys.stdout.buffer.write(b"stray: buffer\n")
    os.write(1, b"stray: os.write\n")
    os.write(2, b"stray: stderr\n")
    logging.getLogger("noisy").warning("stray: logging")
    warnings.warn("stray: warnings", stacklevel=1)
    subprocess.run(["echo", "stray: subprocess"], check=True)
    os.system("echo stray: system")  # noqa: S605 - what a tool might do
    return "done"


@noisy.tool
def eat_stdin() -> str:
    """Tries to read what the client sends."""
    child = subprocess.run(["cat"], capture_output=True, check=True).stdout
    return repr((sys.stdin.read(), os.read(0, 100), child))


@noisy.tool
async def about(context: Context) -> str:
    """What a tool may expect of HTTP here: nothing, but no failure."""
    return f"{context.user} {context.request} {context.session is not None} {dict(context.path_params)}"


@noisy.tool
def odd_text() -> str:
    """Text from a file name that is not UTF-8."""
    return os.fsdecode(b"\xff") + "😀"
