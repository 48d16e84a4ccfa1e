"""The pages of the example site, driven in a real browser."""
