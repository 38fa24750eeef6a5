"""What results are as JSON."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuggeteer.fields import data, valid_unicode


@given(st.text(st.characters()))  # surrogates too, as a file's name brings them
def test_json_can_hold_every_text(text):
    shown = orjson.loads(orjson.dumps(data({"runs": {text: [text]}})))
    assert shown == {"runs": {valid_unicode(text): [valid_unicode(text)]}}
    assert (valid_unicode(text) == text) == (not any("\ud800" <= char <= "\udfff" for char in text))


@pytest.mark.parametrize(
    ("text", "shown"), [("é漢\\", "é漢\\"), ("x\udcff", "x\\xff"), ("\udcc3\udca9", "é"), ("\ud800", "\\xed\\xa0\\x80")]
)
def test_bytes_that_are_not_utf_8_are_written_out(text, shown):
    assert valid_unicode(text) == shown
