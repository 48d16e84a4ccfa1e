"""An example site: the help desk of a bicycle shop, which people and models work in together."""
