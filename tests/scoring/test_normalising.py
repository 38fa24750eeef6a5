"""The forms of many texts at once are those of each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuggeteer.scoring import matched_run
from nuggeteer.scoring.matched_run import forms_and_lengths
from nuggeteer.text import length, normalised, verdict_form

CHARACTERS = (
    st.sampled_from("abix Z.!'\"-[]*_`()#+12\t\n\r\v\x1c\x1f\x00\x7f\x85\xa0é日\u2028\u0301ß\ud800") | st.characters()
)
TEXTS = st.lists(
    st.text(CHARACTERS, max_size=6) | st.sampled_from(["", " ", "a b", " a", "a ", "a  b", "A\nb", "a\x00b"])
)


@pytest.mark.parametrize("at_once", [1, 3, 2048])
@given(TEXTS)
def test_it_is_the_same_as_of_each_by_itself(at_once, texts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matched_run, "TEXTS_AT_ONCE", at_once)
        same, forms, lengths = forms_and_lengths(texts)
    assert same == list(map(normalised, texts))
    assert forms == list(map(verdict_form, texts))
    assert lengths.tolist() == list(map(length, texts))
