"""Judging by hand: a session, and the ways in which it is put before a person."""
