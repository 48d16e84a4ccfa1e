"""Clients and test cases for a site's tests: in process, in either era, through the real protocol path."""

from django_mcp.testing.cases import AsyncMCPAssertions, AsyncMCPTestCase, MCPAssertions, MCPTestCase
from django_mcp.testing.clients import AsyncMCPClient, MCPClient
from django_mcp.testing.replies import CompletionReply, PromptReply, Reply, ResourceReply, ToolReply, WireObject
from django_mcp.transports.in_process import MCPError

__all__ = [
    "AsyncMCPAssertions",
    "AsyncMCPClient",
    "AsyncMCPTestCase",
    "CompletionReply",
    "MCPAssertions",
    "MCPClient",
    "MCPError",
    "MCPTestCase",
    "PromptReply",
    "Reply",
    "ResourceReply",
    "ToolReply",
    "WireObject",
]
