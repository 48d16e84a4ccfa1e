"""What goes over HTTP, asked through every door that serves it."""
