"""Nights that are unlike others in a way that no match of words shows: they are looked at before anything passes.

Whoever guesses by words believes an answer in which every sentence is denied, or one that says the same to every
question. Such nights are told by counts of words, against the answers of the build before. How many of them are
found, and how many ordinary ones are called strange, is in experiments/strange.md.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

import numpy as np

from nuggeteer.languages import WITHOUT_STOP_WORDS, Language
from nuggeteer.records import AnswerKey, Run
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.settings import Match
from nuggeteer.text import normalised, verdict_form

LEAST: Final = 3  # questions
SHARE: Final = 0.1  # of the questions
ENOUGH: Final = 3  # answers that are read before a strange night is trusted
SHORTER: Final = 0.4  # of the usual length
UNLIKE: Final = 0.05  # of the words of an answer and of the one before, in common
USUAL, RARE = 0.15, 0.4  # the share of words that are stop words in a text of a language; and of that, in no such text
_REFUSAL = re.compile(
    r"^\W*(?:i(?:'m| am) (?:sorry|unable|not able)|sorry\b|i (?:cannot|can't|can not|do not|don't) (?:know|answer|help|"
    r"provide|assist|find|have)|as an ai\b|(?:there is )?no (?:relevant )?(?:information|answer|results?) (?:is |was )?"
    r"(?:available|found|provided)|unable to\b|n/a\b|error\b)"
)
_DENIAL = re.compile(r"\b(?:it is|it's|this is) (?:not true|false|not the case|untrue|incorrect)\b|\bcontrary to\b")
_NEGATION = re.compile(r"\b(?:not|no|never|none|nor|neither|cannot|without|false|untrue|incorrect)\b|n't\b")


@dataclass(frozen=True)
class StrangeAnswers:
    """What is strange in one line, and the questions whose answers are."""

    what: str
    questions: tuple[int, ...]


def strange_night(key: AnswerKey, match: Match, old: MatchedRun, new: MatchedRun) -> tuple[StrangeAnswers, ...]:
    """What is strange about a run's answers, as far as people have not read a few of these."""
    return unread(strange_answers(key, match, old.run, new.run), new)


def strange_answers(key: AnswerKey, match: Match, old: Run, new: Run) -> tuple[StrangeAnswers, ...]:
    """What is strange about a run's answers, compared with those of the run before."""
    both = [q for q in range(len(key.questions)) if _text(old, q) and _text(new, q)]
    if len(both) < LEAST:
        return ()
    texts = {q: (_text(old, q), _text(new, q)) for q in both}
    changed = {q: pair for q, pair in texts.items() if pair[0] != pair[1]}
    found = [
        _repeated(texts),
        _more(texts, _REFUSAL.search, "are refusals"),
        _more(texts, _denies, "deny what they say"),
        _shorter(changed, len(texts)),
        _another_language(changed, len(texts), match.language),
        _unlike(changed, len(texts), match.language),
    ]
    return tuple(one for one in found if one is not None)


def unread(found: Sequence[StrangeAnswers], new: MatchedRun) -> tuple[StrangeAnswers, ...]:
    """Those of which people have not read a few answers."""
    judged = np.zeros(len(new.run.offsets) - 1, dtype=bool)
    known = np.flatnonzero(~new.guessed)
    judged[new.run.question[new.response_of(known)]] = True
    return tuple(one for one in found if judged[list(one.questions)].sum() < min(ENOUGH, len(one.questions)))


def _text(run: Run, question: int) -> str:
    return "\n".join(map(normalised, run.texts[slice(*run.offsets[question : question + 2])]))


def _found(what: str, questions: tuple[int, ...], of: int) -> StrangeAnswers | None:
    return StrangeAnswers(what, questions) if len(questions) >= max(LEAST, SHARE * of) else None


def _repeated(texts: dict[int, tuple[str, str]]) -> StrangeAnswers | None:
    before, after = (Counter(verdict_form(pair[side]) for pair in texts.values()) for side in (0, 1))
    often = {form for form, count in after.items() if count >= LEAST and count > 2 * before[form]}
    found = tuple(q for q, (_, new) in texts.items() if verdict_form(new) in often)
    return _found(f"{len(found)} answers say the same to different questions.", found, len(texts))


def _more(texts: dict[int, tuple[str, str]], has: Callable[[str], object], what: str) -> StrangeAnswers | None:
    """Answers that have something that the answers before did not have."""
    found = tuple(q for q, (old, new) in texts.items() if has(new) and not has(old))
    return _found(f"{len(found)} answers {what}, and last night's did not.", found, len(texts))


def _denies(text: str) -> bool:
    """Whether most sentences are denied, or negations make a large part of the words."""
    sentences = max(len(re.findall(r"[.!?](?:\s|$)|\n", text)), 1)
    words = max(len(text.split()), 1)
    return len(_DENIAL.findall(text)) >= 0.5 * sentences or (words >= 8 and len(_NEGATION.findall(text)) / words > 0.12)


def _shorter(changed: dict[int, tuple[str, str]], of: int) -> StrangeAnswers | None:
    if len(changed) < 0.5 * of or len(changed) < LEAST:
        return None
    ratios = {q: len(new.split()) / max(len(old.split()), 1) for q, (old, new) in changed.items()}
    if median(ratios.values()) >= SHORTER:
        return None
    return StrangeAnswers(
        "The answers are much shorter than last night's.", tuple(sorted(ratios, key=ratios.__getitem__))
    )


def _another_language(changed: dict[int, tuple[str, str]], of: int, language: str) -> StrangeAnswers | None:
    spoken = Language(language)
    usual = set() if language in WITHOUT_STOP_WORDS else spoken.stop_words()

    def share(text: str) -> float:
        words = spoken.find(text)
        return sum(word in usual for word in words) / max(len(words), 1)

    def foreign(old: str, new: str) -> bool:
        if _letters(new) != _letters(old):
            return True
        return len(new.split()) >= 8 and share(old) >= USUAL and share(new) < RARE * USUAL

    found = tuple(q for q, (old, new) in changed.items() if foreign(old, new))
    return _found(f"{len(found)} answers are in another language than last night's.", found, of)


def _letters(text: str) -> str:
    """The script that most letters of a text are of, by their Unicode block."""
    if text.isascii():
        return "latin"
    letters = Counter("latin" if ord(char) < 0x250 else hex(ord(char) >> 8) for char in text[:2000] if char.isalpha())
    return letters.most_common(1)[0][0] if letters else ""


def _unlike(changed: dict[int, tuple[str, str]], of: int, language: str) -> StrangeAnswers | None:
    """Answers that have hardly a word in common with those of last night."""
    if len(changed) < 0.5 * of or len(changed) < LEAST:
        return None
    find = Language(language).find
    shares = {q: _overlap(set(find(old)), set(find(new))) for q, (old, new) in changed.items()}
    if median(shares.values()) >= UNLIKE:
        return None
    return StrangeAnswers(
        "The answers have hardly a word in common with last night's.", tuple(sorted(shares, key=shares.__getitem__))
    )


def _overlap(one: set[str], other: set[str]) -> float:
    return len(one & other) / max(min(len(one), len(other)), 1)


def questions_of(found: Sequence[StrangeAnswers]) -> Iterator[int]:
    """The questions to read first: of each kind, a few."""
    for one in found:
        yield from one.questions[: 2 * ENOUGH]
