"""The official Python SDK's server for many subscriptions; MCPServer has room for 1,024 and no setting for it."""

import os

from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler

MOST = int(os.environ.get("DJANGO_MCP_BENCHMARK_STREAMS", "1000"))

handler = ListenHandler(InMemorySubscriptionBus(), max_subscriptions=MOST)
app = Server("benchmark", on_subscriptions_listen=handler).streamable_http_app()
