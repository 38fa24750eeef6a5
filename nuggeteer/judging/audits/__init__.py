"""Audits: what a score is, however wrong the guesses are, from a random sample of verdicts."""
