"""One module a file format; each says at its head what the format looks like."""
