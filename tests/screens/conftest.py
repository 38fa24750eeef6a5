"""The screens show sessions: they have the fixtures of those."""

from tests.judging.conftest import begin, fermi

__all__ = ["begin", "fermi"]
