"""The papers' tables and figures, run from definitions on any collection."""
