"""One file per page of the specification. ``handshake`` holds all that only the legacy era has."""
