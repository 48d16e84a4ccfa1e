"""The pages of the admin, one file a page. Imported by the admin, so only where a site has it."""

from django_mcp.admin.primitives import PrimitiveAdmin
from django_mcp.admin.sessions import SessionAdmin
from django_mcp.admin.tokens import AccessTokenAdmin

__all__ = ["AccessTokenAdmin", "PrimitiveAdmin", "SessionAdmin"]
