"""Excerpts of outputs on pages are what was printed, and follow when an output changes."""

from __future__ import annotations

import pytest

from tests import excerpts

OUTPUT = """\
monday → tuesday
           monday  tuesday  change
F(3)        0.372    0.494  +0.122
recall      0.366    0.482  +0.116

Nuggets: 0 gained, 0 lost, 2 kept.
Doubtful:
? a/1  is it there
""".splitlines()
WITH_A_COLUMN = [line.replace("change", "change    p").replace("+0.1", "+0.1    0.6") for line in OUTPUT]


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        (OUTPUT, OUTPUT, OUTPUT),
        (OUTPUT[1:4], OUTPUT, OUTPUT[1:4]),
        (OUTPUT[1:4], WITH_A_COLUMN, WITH_A_COLUMN[1:4]),
        (OUTPUT[1:4], [*OUTPUT[:3], "precision   0.2      0.3  +0.1", *OUTPUT[3:]], None),
        ([*OUTPUT[1:3], "precision   0.2      0.3  +0.1", OUTPUT[3]], OUTPUT, OUTPUT[1:4]),
        ([*OUTPUT[1:3], "…", OUTPUT[5]], WITH_A_COLUMN, [*WITH_A_COLUMN[1:3], "…", OUTPUT[5]]),
        ([OUTPUT[0], "…", *OUTPUT[5:7]], [OUTPUT[0], "new", *OUTPUT[4:6], "more", OUTPUT[6]], None),
        (["…", OUTPUT[2]], OUTPUT, ["…", OUTPUT[2]]),
        (OUTPUT[1:6], [*OUTPUT[1:4], *OUTPUT[5:]], [*OUTPUT[1:4], OUTPUT[5]]),
    ],
)
def test_an_excerpt_follows_when_lines_change_come_or_go(shown, printed, expected):
    if expected is None and shown[0] == OUTPUT[1]:
        expected = [*OUTPUT[1:3], printed[3], OUTPUT[3]]
    elif expected is None:
        expected = [OUTPUT[0], "…", OUTPUT[5], "more", OUTPUT[6]]
    assert excerpts.nearest(shown, printed) == expected


def test_what_is_shown_from_the_start_begins_there():
    assert excerpts.nearest(OUTPUT[:2], ["a word before", *OUTPUT], from_start=True) == ["a word before", *OUTPUT[:2]]
    assert excerpts.nearest(OUTPUT[:2], ["a word before", *OUTPUT]) == OUTPUT[:2]


def test_what_is_no_longer_printed_is_an_error():
    with pytest.raises(AssertionError, match="nothing like this"):
        excerpts.nearest([*OUTPUT[:2], "…", "zzzzzz"], OUTPUT)


@pytest.mark.parametrize(
    ("block", "right"),
    [
        (OUTPUT, True),
        (OUTPUT[2:4], True),
        ([OUTPUT[0], "…", OUTPUT[3]], True),
        ([OUTPUT[0], OUTPUT[3]], False),
        ([OUTPUT[0], "…", OUTPUT[1]], False),
        ([OUTPUT[3], "…", OUTPUT[0]], False),
        ([OUTPUT[2][2:]], False),
        ([OUTPUT[2][:-2]], False),
    ],
)
def test_an_excerpt_is_without_gaps_but_where_it_says_so(tmp_path, monkeypatch, block, right):
    monkeypatch.setattr(excerpts, "UPDATE", False)
    shown = "".join(f"{line}\n" for line in block)
    if right:
        excerpts.check(tmp_path, shown, OUTPUT)
    else:
        with pytest.raises(AssertionError, match="not printed like this"):
            excerpts.check(tmp_path, shown, OUTPUT)


def test_a_block_is_replaced_in_its_place(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("Say one\nonce.\n```text\ntwo\none\n```\n\n```text\none\n```\n")
    excerpts.replace(page, "one\n", "three\nfour\n")
    assert page.read_text() == "Say one\nonce.\n```text\ntwo\none\n```\n\n```text\nthree\nfour\n```\n"
