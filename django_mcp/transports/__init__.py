"""Doors in ASGI terms: security, Server-Sent Events and the two HTTP wires. No Channels here."""
