"""One module a format; see `registry.Reader` for what a module provides."""
