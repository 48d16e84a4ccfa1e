"""The fixture site that the official conformance suites and the real clients are run against."""
