"""Strategies of hypothesis for what may stand in a file."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=4)
ids = names | st.integers(-9, 99)


def json_values(
    *more: st.SearchStrategy[Any], keys: st.SearchStrategy[str] = texts, size: int = 3, leaves: int = 6
) -> st.SearchStrategy[Any]:
    """Anything that JSON can hold, with `more` kinds of leaves."""
    return st.recursive(
        st.one_of(st.none(), st.booleans(), numbers, texts, *more),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=size),
        max_leaves=leaves,
    )
