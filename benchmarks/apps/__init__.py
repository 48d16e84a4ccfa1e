"""What the site is measured beside. Each module runs in the environment of its own product."""
