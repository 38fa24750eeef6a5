"""The names that `import nuggeteer` gives."""

from __future__ import annotations

import subprocess
import sys

import nuggeteer


def test_every_name_is_what_it_says_however_often_it_is_asked_for():
    """No module of the same name takes its place."""
    for name in [*nuggeteer.__all__, *nuggeteer.__all__]:
        found = getattr(nuggeteer, name)
        assert found.__name__ == name
        assert found.__module__.startswith("nuggeteer.")


def test_importing_costs_next_to_nothing():
    heavy = "import sys, nuggeteer; print([m for m in ('numpy', 'scipy', 'rich', 'sqlite3') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True).stdout.strip() == "[]"
