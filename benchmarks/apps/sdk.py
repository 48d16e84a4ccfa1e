"""The official Python SDK's server with the tools of benchmarks/site/mcp.py, answering JSON as ours does.

Without arguments it serves standard input and output. What comes without a session id of the modern
revision is served without a session anyway, so one application does for both eras.
"""

from mcp.server.mcpserver import Context, MCPServer

from .catalogue import NAMES, count

server = MCPServer("benchmark", log_level="WARNING")
hundred = MCPServer("catalogue", log_level="WARNING")


@server.tool()
async def add_async(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def add_sync(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def add_reporting(a: int, b: int, ctx: Context) -> int:
    """Add two numbers, and say that half is done."""
    await ctx.report_progress(1, 2)
    return a + b


for name in NAMES:
    hundred.tool(name=name)(count)

if __name__ == "__main__":
    server.run("stdio")
else:
    app = server.streamable_http_app(json_response=True)
    streaming = server.streamable_http_app()
    catalogue = hundred.streamable_http_app(json_response=True, streamable_http_path="/catalogue")
