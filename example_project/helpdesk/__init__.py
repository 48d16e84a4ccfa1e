"""Queues, tickets and the people on both sides of them."""
