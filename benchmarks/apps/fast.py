"""FastMCP's server with the tools of benchmarks/site/mcp.py, answering JSON as ours does.

Without arguments it serves standard input and output.
"""

from fastmcp import Context, FastMCP

from .catalogue import NAMES, count

server = FastMCP("benchmark")
hundred = FastMCP("catalogue")


@server.tool
async def add_async(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
def add_sync(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
async def add_reporting(a: int, b: int, ctx: Context) -> int:
    """Add two numbers, and say that half is done."""
    await ctx.report_progress(1, 2)
    return a + b


for name in NAMES:
    hundred.tool(count, name=name)

if __name__ == "__main__":
    server.run("stdio", show_banner=False)
else:
    app = server.http_app("/mcp", json_response=True)
    streaming = server.http_app("/mcp")
    catalogue = hundred.http_app("/catalogue", json_response=True)
