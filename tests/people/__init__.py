"""A site whose users are of its own kind. ``python -m tests.people`` opens every page of our admin there."""
