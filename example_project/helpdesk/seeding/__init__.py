"""Believable data for an empty help desk, the same on every machine."""

from .accounts import create_accounts
from .builder import Counts, fill

__all__ = ["Counts", "create_accounts", "fill"]
