"""The wire protocol: pure functions and values, standard library only."""
