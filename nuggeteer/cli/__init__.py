"""The command line. Each command has a file, which parses, calls a library function and shows the result."""
