"""Who sends a request. A server is closed unless ``AllowAny`` is spelled out."""

from django_mcp.auth.base import AllowAny, Authentication, AuthenticationFailed, AuthRequest
from django_mcp.auth.bearer import BearerToken
from django_mcp.server.call import Caller

__all__ = ["AllowAny", "AuthRequest", "Authentication", "AuthenticationFailed", "BearerToken", "Caller"]
