"""Database URLs that the suite understands."""

import pytest

from tests.databases import database_from_url


def test_an_unknown_scheme_lists_the_known_ones():
    with pytest.raises(ValueError, match="is no database URL"):
        database_from_url("oracle://localhost/x")
