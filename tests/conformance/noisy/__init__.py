"""An app that writes to standard output in every way there is: a stdio client must see none of it."""
