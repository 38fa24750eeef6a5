"""What is taken from a reply, against labels that were put into it; and prompts."""

from __future__ import annotations

import json
from contextlib import suppress
from hashlib import sha256
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuggeteer.asking.prompts import OWN, find_prompt
from nuggeteer.asking.replies import LABELS, Token, WrongShape, read_labels, reply_schema
from nuggeteer.errors import InputError
from tests.asking.fake_server import as_tokens, reply_of

LISTS = st.lists(st.sampled_from(LABELS), min_size=1, max_size=12)
PROSE = st.text(alphabet=st.characters(exclude_characters="{}<>", exclude_categories=["Cs"]), max_size=60)


def labels(content, count, tokens=None):
    return [label.label for label in read_labels(content, count, tokens)]


@given(LISTS, PROSE, PROSE, st.booleans(), st.randoms())
def test_labels_are_found_in_any_order_and_whatever_stands_around_them(wanted, before, after, thinking, random):
    pairs = [(str(number), label) for number, label in enumerate(wanted, 1)]
    random.shuffle(pairs)
    block = f"<think>{before} {reply_of(['support'] * 20)}</think>" if thinking else ""
    assert labels(f"{block}{before}{json.dumps(dict(pairs))}{after}", len(wanted)) == wanted


@given(LISTS, st.integers(1, 14))
def test_a_reply_of_another_length_is_never_taken(wanted, count):
    if count == len(wanted):
        assert labels(reply_of(wanted), count) == wanted
    else:
        with pytest.raises(WrongShape):
            read_labels(reply_of(wanted), count)


@given(LISTS, st.data())
def test_half_a_reply_is_never_taken(wanted, data):
    whole = reply_of(wanted)
    with pytest.raises(WrongShape):
        read_labels(whole[: data.draw(st.integers(0, len(whole) - 1))], len(wanted))


@pytest.mark.slow
@given(st.text() | st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_anything_is_labels_or_a_wrong_shape(content):
    with suppress(WrongShape):
        assert set(labels(content, 1)) <= set(LABELS)


@pytest.mark.slow
@given(LISTS)
def test_the_schema_allows_just_what_is_read(wanted):
    jsonschema = pytest.importorskip("jsonschema")
    schema = reply_schema(len(wanted))
    jsonschema.validate(json.loads(reply_of(wanted)), schema)
    for wrong in (wanted[1:], [*wanted, "support"], ["yes", *wanted[1:]]):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(json.loads(reply_of(wrong)), schema)


def tokens_of(content):
    return [
        Token(piece["token"], {one["token"]: one["logprob"] for one in piece["top_logprobs"]})
        for piece in as_tokens(content)
    ]


@given(LISTS, PROSE)
def test_probabilities_are_those_of_the_place_where_the_label_begins(wanted, before):
    """The server gives the label 0.7, the others 0.2 and 0.1."""
    content = before + reply_of(wanted)
    for label in read_labels(content, len(wanted), tokens_of(content)):
        assert label.probabilities is not None
        assert label.probabilities[LABELS.index(label.label)] == pytest.approx(0.7, abs=1e-6)
        assert sum(label.probabilities) == pytest.approx(1)


@pytest.mark.parametrize(
    ("alternatives", "expected"),
    [
        ({"support": -0.1, "not": -3.0}, True),
        ({"s": -0.1, "n": -3.0, "p": -4.0}, True),
        ({"support": -0.1, "Support": -3.0}, True),
        ({"yes": -0.1, "support": -3.0}, False),  # most of the probability lies elsewhere
        ({"": 0.0}, False),
        ({"support": 5.0}, False),  # not a log probability
        ({"not_support": -0.01}, False),  # the label is not likely where it stands, so this is another place
    ],
)
def test_probabilities_that_do_not_fit_the_label_are_left_out(alternatives, expected):
    tokens = [Token('{"1": "', {'{"1": "': 0.0}), Token("support", alternatives), Token('"}', {'"}': 0.0})]
    (label,) = read_labels('{"1": "support"}', 1, tokens)
    assert (label.probabilities is not None) is expected


# Prompts.


def test_our_prompts_are_as_they_were_published_by_their_versions():
    """A changed prompt is another judge, so it needs another name."""
    digests = {
        name: sha256(files("nuggeteer.asking").joinpath("templates", f"{name}.txt").read_bytes()).hexdigest()[:12]
        for name in ("assign-1", "propose-1")
    }
    assert digests == {"assign-1": ASSIGN, "propose-1": PROPOSE}
    assert OWN == ("assign-1",)


ASSIGN, PROPOSE = "9893200780d0", "9f96beaad0a6"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{nuggets} {answer}", r"the field {reply} stands in it 0 times"),
        ("{nuggets} {answer} {reply} {answer}", r"the field {answer} stands in it 2 times"),
        ("{nuggets} {answer} {reply} {key}", r"unknown field {key}"),
        ("", r"0 times"),
        (b"\xff", "it is not UTF-8"),
        ("{nuggets} {answer} {reply}" + "x" * 100_000, "more than 100,000 characters"),
    ],
)
def test_a_template_of_a_user_is_checked(tmp_path, text, says):
    path = tmp_path / "mine.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=says):
        find_prompt(str(path))


def test_a_template_that_is_missing_or_unknown_is_named(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        find_prompt(str(tmp_path / "mine.txt"))
    with pytest.raises(InputError, match="no prompt is called 'assign-9'"):
        find_prompt("assign-9")


def test_a_template_has_two_parts_and_keeps_other_braces(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text('Be strict: {"a": 1}.\n---\n{question}|{nuggets}|{answer}|{reply}')
    system, user = find_prompt(str(path)).messages("Who?\nWhy?", "He {reply}", ["a\nb", "c"], "R")
    assert system == {"role": "system", "content": 'Be strict: {"a": 1}.'}
    question, nuggets, answer, reply = user["content"].split("|")
    assert (question, nuggets, reply) == ("Who? Why?", "1. a b\n2. c", "R")
    assert answer.splitlines()[1] == "He {reply}"


def test_a_changed_template_is_another_prompt(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("{nuggets} {answer} {reply}")
    first = find_prompt(str(path)).name
    path.write_text("{nuggets} {answer} {reply}!")
    assert first != find_prompt(str(path)).name
    assert first.startswith("mine.txt@")
