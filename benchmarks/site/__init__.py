"""A site with two trivial tools, so that what is measured is what we add to them."""
