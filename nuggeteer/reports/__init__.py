"""Results, shown: a module for each, with `as_json` for scripts and `draw` for a terminal. Reports compute nothing.

The rest is what reports are made with: `terminal` (tables), `formatting` (numbers and lists), `json_values`, `passages`
and `charts`. `html` is the page of one build; `markdown` and `junit` show changes to build servers.
"""
