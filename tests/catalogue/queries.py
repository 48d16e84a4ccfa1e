"""What was asked of the database for the site, aside from the app's own rows."""


def selects(captured):
    """The SELECT statements that do not read the switches, which a test's transaction has read every time."""
    return [one["sql"] for one in captured if "SELECT" in one["sql"] and "django_mcp_" not in one["sql"]]
