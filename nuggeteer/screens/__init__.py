"""The screens of `judge`: a terminal application, plain lines, and a browser page."""
