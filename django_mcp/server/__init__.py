"""The protocol server: what each method does, for both eras. Knows neither Django nor HTTP."""
