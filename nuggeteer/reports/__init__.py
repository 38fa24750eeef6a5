"""One module for each kind of result, with `as_json` for scripts and `draw` for a terminal. Reports compute nothing.

The other modules are the parts of reports: `terminal` (tables), `formatting` (numbers and lists), `model` (JSON that
several share), `passages` and `charts`. `html` is the page of one build; `markdown` and `junit` show changes to build
servers.
"""
