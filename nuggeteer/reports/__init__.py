"""Results drawn: on the terminal, and as JSON for scripts. Nothing is computed here."""
