"""Each file format has a module, whose docstring describes the format."""
