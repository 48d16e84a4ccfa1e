"""The README's first tool is what it says: short, registered, and callable."""

from django.test import SimpleTestCase

from django_mcp import default_server
from tests.documents import README, run


class ReadmeTests(SimpleTestCase):
    def test_its_blocks_register_its_tools(self):
        with run(README) as namespace:
            assert list(default_server.registry.tools) == ["add", "find_user"]
        assert namespace["add"](2, 3) == 5
        assert callable(namespace["application"])

    def test_the_first_tool_takes_fewer_than_twenty_lines(self):
        first = README.read_text().partition("## The first tool")[2].partition("A tool may take")[0]
        blocks = first.split("```python\n")[1:]
        lines = [line for block in blocks for line in block.partition("```")[0].splitlines() if line]
        assert 0 < len(lines) < 20
