"""Links within the page that stay the same from build to build: to a question, and to a nugget."""

from __future__ import annotations

from urllib.parse import quote


def of_question(qid: str) -> str:
    """As an element's id; behind a `#`, the link to it."""
    return f"question/{quote(qid, safe='')}"


def of_nugget(qid: str, nugget: str) -> str:
    return f"nugget/{quote(qid, safe='')}/{quote(nugget, safe='')}"
