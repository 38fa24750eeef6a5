"""Replies of a model: one label for each numbered nugget, and how probable each is, if the server says so.

A reply is a JSON object {"1": label, ..., "N": label}. Labels have numbers, so the others stay right if a reply drops,
repeats or reorders nuggets. Prose around the object and a block of thinking before it do not matter. Anything else is a
`WrongShape`: too few or too many numbers, a number twice, an unknown label, two objects that differ. So is a reply that
cannot be read to its end: an answer that it quotes could stand before its own labels, and hide them.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

LABELS: Final = ("support", "partial_support", "not_support")
LONGEST_REPLY: Final = 200_000  # characters
ATTEMPTS: Final = 200  # opening braces that are tried
ENOUGH: Final = 0.5  # of the probability that must lie on the labels, or it says nothing about them
_find_number = re.compile(r'"(\d{1,3})"\s*:\s*"')
_tag_of_thinking = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)


class WrongShape(Exception):
    """A reply that is not one label for each nugget; says what is wrong."""


@dataclass(frozen=True)
class Token:
    """A piece of the reply with its alternatives: how probable the model found each one at this place."""

    text: str
    alternatives: dict[str, float]  # log probabilities


@dataclass(frozen=True)
class Label:
    """The label of one nugget. `probabilities` of the three labels in the order of `LABELS`; None if unknown."""

    label: str
    probabilities: tuple[float, float, float] | None = None


def reply_instruction(count: int) -> str:
    """What the prompt asks the model to reply."""
    shape = ", ".join(f'"{number}": LABEL' for number in range(1, count + 1))
    return f"Reply with this JSON object and nothing else. Each LABEL is one of {', '.join(LABELS)}.\n{{{shape}}}"


def reply_schema(count: int) -> dict[str, Any]:
    """The JSON Schema of a good reply."""
    numbers = [str(number) for number in range(1, count + 1)]
    label = {"type": "string", "enum": list(LABELS)}
    return {
        "type": "object",
        "properties": dict.fromkeys(numbers, label),
        "required": numbers,
        "additionalProperties": False,
    }


def read_labels(content: str, count: int, tokens: Sequence[Token] | None = None) -> list[Label]:
    """The labels of nuggets 1 to `count`; raises `WrongShape`."""
    labels = _numbered(content, count)
    chances = _probabilities(tokens, count) if tokens else {}
    return [Label(label, _agreeing(label, chances.get(number))) for number, label in enumerate(labels, 1)]


def objects(content: str) -> list[dict[str, Any]]:
    """The JSON objects that a reply holds outside its thinking, and those inside them: a text that the reply quotes can
    begin an object that ends after the model's own. Raises `WrongShape` if an object has a key twice."""
    if len(content) > LONGEST_REPLY:
        raise WrongShape(f"the reply has more than {LONGEST_REPLY:,} characters")
    text = _without_thinking(content)
    found: list[dict[str, Any]] = []
    read: list[tuple[list[tuple[str, Any]], dict[str, Any]]] = []

    def take(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        read.append((pairs, dict(pairs)))
        return read[-1][1]

    decoder = json.JSONDecoder(object_pairs_hook=take)
    position = text.find("{")
    for _ in range(ATTEMPTS):
        if position < 0:
            return found
        read.clear()
        try:
            _, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            position += 1
        else:
            if any(len(pairs) > len(one) for pairs, one in read):
                raise WrongShape("a key, such as a number, stands in the reply twice")
            found += (one for _, one in read)
        position = text.find("{", position)
    raise WrongShape(f"the reply has {ATTEMPTS} braces or more")


def _without_thinking(content: str) -> str:
    """The reply with a space in place of each block of thinking."""
    kept, position, thinking = list[str](), 0, False
    for tag in _tag_of_thinking.finditer(content):
        if not thinking and not tag[1]:
            kept.append(content[position : tag.start()])
            thinking = True
        elif thinking and tag[1]:
            position, thinking = tag.end(), False
    if thinking:
        raise WrongShape("the reply ends within its thinking")
    return " ".join([*kept, content[position:]])


def _numbered(content: str, count: int) -> list[str]:
    wanted = [str(number) for number in range(1, count + 1)]
    found = objects(content)
    if not found:
        raise WrongShape("no JSON object in the reply")
    numbered = [one for one in found if not one.keys().isdisjoint(wanted)] or found
    for one in numbered:
        if one.keys() != set(wanted):
            raise WrongShape(f"{len(one)} labels for {count} nuggets, or other numbers")
    labels = [[_label(one[number]) for number in wanted] for one in numbered]
    if any(other != labels[0] for other in labels):
        raise WrongShape("two replies that differ")
    return labels[0]


def _label(value: Any) -> str:
    if not isinstance(value, str):
        raise WrongShape(f"a label is not text but has the type {type(value).__name__}")
    label = re.sub(r"[\s-]+", "_", value.strip().lower())
    if label not in LABELS:
        raise WrongShape(f"unknown label {json.dumps(value)[:60]}")
    return label


def _agreeing(label: str, chances: tuple[float, float, float] | None) -> tuple[float, float, float] | None:
    """Probabilities that make the label likely; others belong to some other place in the reply."""
    return chances if chances and chances[LABELS.index(label)] > 0 else None


def _probabilities(tokens: Sequence[Token], count: int) -> dict[int, tuple[float, float, float]]:
    """For each number that stands once behind the thinking, the probabilities of the labels at the token where its own
    begins."""
    text = "".join(token.text for token in tokens)
    *_, thought = 0, *(tag.end() for tag in _tag_of_thinking.finditer(text))
    found = [match for match in _find_number.finditer(text, thought) if 1 <= int(match[1]) <= count]
    once = Counter(int(match[1]) for match in found)
    starts = {int(match[1]): match.end() for match in found if once[int(match[1])] == 1}
    result: dict[int, tuple[float, float, float]] = {}
    begins = [0]
    for token in tokens:
        begins.append(begins[-1] + len(token.text))
    where = 0
    for number, start in sorted(starts.items(), key=lambda item: item[1]):
        while where < len(tokens) and begins[where + 1] <= start:
            where += 1
        if where < len(tokens) and (chances := _of_labels(tokens[where], start - begins[where])):
            result[number] = chances
    return result


def _of_labels(token: Token, offset: int) -> tuple[float, float, float] | None:
    """The labels that the alternatives of a token begin, if they have most of the probability."""
    mass = dict.fromkeys(LABELS, 0.0)
    before = token.text[:offset]
    for piece, log_probability in token.alternatives.items():
        rest = piece[offset:].lower() if piece.startswith(before) else ""
        begun = [label for label in LABELS if rest and (label.startswith(rest) or rest.startswith(label))]
        if len(begun) == 1 and log_probability <= 1e-6:
            mass[begun[0]] += math.exp(log_probability)
    total = sum(mass.values())
    if not ENOUGH <= total <= 1.001:
        return None
    return mass["support"] / total, mass["partial_support"] / total, mass["not_support"] / total
