"""The screens of `judge`: a terminal application, and plain lines."""
