"""Tables that fit their terminal: names are wrapped, numbers never are, and nothing is cut off."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from nuggeteer.reports.formatting import p_value
from nuggeteer.reports.terminal import plain, table

LONG = "qa-service-main-2026-11-18-r1031"  # 32 characters


def drawn(width, columns, rows):
    file = io.StringIO()
    out = Console(file=file, width=width, markup=False, emoji=False, highlight=False)
    out.print(table("A title that is wider than the table itself, as they often are", columns, rows))
    return file.getvalue()


@given(
    width=st.integers(40, 120),
    names=st.lists(st.text("ab-_ .é漢", min_size=1, max_size=70).filter(str.strip), min_size=1, max_size=4),
    numbers=st.integers(1, 12),
)
def test_every_number_stands_whole_on_a_line_and_every_name_is_all_there(width, names, numbers):
    columns = [("run", "left"), *((f"m {i}", "right") for i in range(numbers)), ("95 % interval", "fixed")]
    rows = [
        [plain(name), *(f"0.{n}{i:02d}" for i in range(numbers)), f"0.{n}23–0.{n}56"] for n, name in enumerate(names)
    ]
    shown = drawn(width, columns, rows)
    assert all(len(line) <= width for line in shown.splitlines())
    words = shown.split()
    for row in rows:
        assert all(cell in words for cell in row[1:])
    marks = [char for name in names for char in name if char in "ab漢é"]
    assert sum(shown.count(char) for char in "漢é") >= sum(char in "漢é" for char in marks)
    assert "…" not in shown


def test_a_name_is_broken_at_its_marks():
    shown = drawn(50, [("run", "left"), ("F(3)", "right"), ("what", "fixed")], [[LONG, "0.123", "x" * 20]])
    pieces = [line[:21].strip() for line in shown.splitlines()[4:]]
    assert pieces == ["qa-service-main-2026-", "11-18-r1031"]


def test_a_table_that_fits_is_not_changed():
    shown = drawn(80, [("run", "left"), ("F(3)", "right"), ("what", "wrap")], [["a", "0.5", "some words"]])
    assert shown.splitlines()[1:] == ["run  F(3)  what      ", "─" * 21, "a     0.5  some words"]


@pytest.mark.parametrize(
    ("p", "shown"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (0.0, "<0.0001"),
        (0.00034, "0.00034"),
        (0.0147, "0.015"),
        (0.0496, "<0.05"),
        (0.05, "0.05"),
        (0.1942, "0.19"),
        (0.7, "0.70"),
        (0.9951, "<1"),
        (1.0, "1"),
    ],
)
def test_p_has_two_digits_and_is_on_the_right_side_of_5_percent(p, shown):
    assert p_value(p) == shown
