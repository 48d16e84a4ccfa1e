"""Another site: servers of their own, mounted in the ways that sites mount them."""

from django.urls import include, path

from django_mcp import Context, MCPServer

tenants = MCPServer("tenants", title="Tenants", instructions="Ask for a tenant.", settings={"PAGE_SIZE": 1})


@tenants.tool
def tenant(context: Context) -> dict[str, str]:
    """Say where the call came in."""
    return {"tenant": context.path_params["tenant"], "value": context.get("colour", "none")}


@tenants.tool
def second() -> str:
    """Fill the second page."""
    return "second"


inner = [path("mcp/", include("django_mcp.urls"))]

urlpatterns = [
    path("api/", include(inner)),
    path("", include("django_mcp.urls")),
    path("<slug:tenant>/mcp", tenants.urls),
    path("t/<slug:tenant>/", tenants.urls),
]
