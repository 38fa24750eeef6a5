"""Nights that are unlike others in a way that matching words cannot show. People look at them before anything passes.

A guess by words believes an answer in which every sentence is denied, or one that says the same to every question. Such
nights are recognised by counts of words, compared with the answers of the build before. How many of them are found, and
how many ordinary ones are called strange, is in experiments/strange.md.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress, islice
from statistics import median
from typing import Final

import numpy as np

from nuggeteer.languages import WITHOUT_STOP_WORDS, Language
from nuggeteer.records import AnswerKey, Run
from nuggeteer.scoring.known import UNKNOWN
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.settings import Match
from nuggeteer.text import verdict_form

LEAST: Final = 3  # questions
SHARE: Final = 0.1  # of the questions
ENOUGH: Final = 3  # answers that are read before a strange night is trusted
SHORTER: Final = 0.4  # of the usual length
UNLIKE: Final = 0.05  # words that an answer has in common with the one before; more than answers to others have
USUAL, RARE = 0.15, 0.4  # the share of words that are stop words in a text of a language; and of that, in no such text
MANY: Final = 0.3  # of the questions, for signs that good answers may have, too
MOSTLY, SELDOM = 0.6, 0.3  # of an answer's sentences
OPENING: Final = 3  # words
_REFUSAL = re.compile(
    r"^\W*(?:sorry\b|as an ai\b|unable to\b|n/a\b|error\b)"
    r"|\b(?:i|we)(?:'m|'re| am| are) (?:sorry|unable|not able|afraid)\b"
    r"|\b(?:i|we) (?:cannot|can't|can not|could not|couldn't|do not|don't|did not|didn't) "
    r"(?:know|answer|help|provide|assist|find|have|determine)\b"
    r"|\b(?:documents?|context|passages?|sources?|texts?|articles?|information|results?)\b[^.]{0,60}\b"
    r"(?:do|does|did)(?: not|n't) (?:contain|mention|provide|include|give|specify|state|say|address|answer|have)\b"
    r"|\bno (?:relevant )?(?:information|answer|results?)\b[^.]{0,40}\b(?:available|found|provided|given)\b"
    r"|\b(?:cannot|can't|can not|could not) be (?:answered|determined)\b"
)
_DENIAL = re.compile(r"\b(?:it is|it's|this is) (?:not true|false|not the case|untrue|incorrect)\b|\bcontrary to\b")
_NEGATION = re.compile(r"\b(?:not|no|never|none|nor|neither|cannot|without|false|untrue|incorrect)\b|n't\b")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_END = re.compile(r"[.!?](?:\s|$)|\n")
_WORD = re.compile(r"[\w'’]+")


@dataclass(frozen=True)
class StrangeAnswers:
    """What is strange, in one line, and the questions whose answers are strange. `empty` ones cannot be read."""

    what: str
    questions: tuple[int, ...]
    empty: bool = False


class _Answer(str):
    """An answer's normalised text. What several signs need is worked out once."""

    @cached_property
    def sentences(self) -> list[str]:
        return [sentence for sentence in _SENTENCE.split(self) if sentence.strip()]

    @cached_property
    def length(self) -> int:
        """In words."""
        return len(self.split())


Pair = tuple[_Answer, _Answer]  # last night's and tonight's


def strange_night(key: AnswerKey, match: Match, old: MatchedRun, new: MatchedRun) -> tuple[StrangeAnswers, ...]:
    """What is strange about a run's answers, as far as people have not read a few of these."""
    return unread(key, strange_answers(key, match, old.run, new.run), new)


def strange_answers(key: AnswerKey, match: Match, old: Run, new: Run) -> tuple[StrangeAnswers, ...]:
    """What is strange about a run's answers, compared with those of the run before."""
    every = {q: (_text(old, q), _text(new, q)) for q in range(len(key.questions))}
    answered = {q: pair for q, pair in every.items() if pair[0]}
    empty = tuple(q for q, (_, answer) in answered.items() if not answer)
    gone = _found(f"{len(empty)} answers are empty, and last night's were not.", empty, len(answered))
    gone = replace(gone, empty=True) if gone else None
    texts = {q: pair for q, pair in answered.items() if pair[1]}
    if len(texts) < LEAST:
        return (gone,) if gone else ()
    changed = {q: pair for q, pair in texts.items() if pair[0] != pair[1]}
    plain = [
        _repeated(texts),
        _more(texts, _refuses, "are refusals", "were"),
        _more(texts, _denies, "deny what they say", "did"),
    ]
    named = {q for one in plain if one for q in one.questions}
    rest = {q: pair for q, pair in changed.items() if q not in named}
    found = [
        *plain,
        _negated(rest, len(texts)),
        _opened_alike(rest, len(texts)),
        _shorter(changed, len(texts)),
        _another_language(changed, len(texts), match.language),
        _unlike(changed, len(texts), match.language),
        gone,
    ]
    return tuple(one for one in found if one is not None)


def unread(key: AnswerKey, found: Sequence[StrangeAnswers], new: MatchedRun) -> tuple[StrangeAnswers, ...]:
    """Those of which people have not read a few answers. Some sentences, which another system may have too, are not a
    whole answer read."""
    seen = np.zeros(len(new.run), dtype=bool)
    seen[new.response_of(np.flatnonzero(~new.guessed))] = True
    judged = np.bincount(new.run.question, ~seen, len(new.run.offsets) - 1) == 0
    if new.answers is not None:
        judged[key.question[new.answers != UNKNOWN]] = True
    few = (judged[list(one.questions)].sum() < min(ENOUGH, len(one.questions)) for one in found)
    return tuple(one for one, is_unread in zip(found, few, strict=True) if is_unread or one.empty)


def _text(run: Run, question: int) -> _Answer:
    own = run.own(question)
    return _Answer("\n".join(compress(run.normalised_texts[own], run.speaks[own])))


def _found(what: str, questions: tuple[int, ...], of: int) -> StrangeAnswers | None:
    return StrangeAnswers(what, questions) if len(questions) >= max(LEAST, SHARE * of) else None


def _repeated(texts: dict[int, Pair]) -> StrangeAnswers | None:
    before, after = (Counter(verdict_form(pair[side]) for pair in texts.values()) for side in (0, 1))
    often = {form for form, count in after.items() if count >= LEAST and count > 2 * before[form]}
    found = tuple(q for q, (_, new) in texts.items() if verdict_form(new) in often)
    return _found(f"{len(found)} answers say the same to different questions.", found, len(texts))


def _more(texts: dict[int, Pair], has: Callable[[_Answer], object], what: str, verb: str) -> StrangeAnswers | None:
    """Answers that have something that the answers before did not have."""
    found = tuple(q for q, (old, new) in texts.items() if has(new) and not has(old))
    return _found(f"{len(found)} answers {what}, and last night's {verb} not.", found, len(texts))


def _refuses(text: _Answer) -> bool:
    """Whether the first sentence says that there is no answer."""
    return bool(_REFUSAL.search(text.sentences[0]))


def _denies(text: _Answer) -> bool:
    """Whether most sentences are denied, or negations make a large part of the words."""
    sentences = max(len(_END.findall(text)), 1)
    if len(_DENIAL.findall(text)) >= 0.5 * sentences:
        return True
    return text.length >= 8 and len(_NEGATION.findall(text)) / text.length > 0.12


def _negated(changed: dict[int, Pair], of: int) -> StrangeAnswers | None:
    """Answers in which most sentences have a negation, while few of last night's had one; if there are many, and far
    fewer the other way round."""
    shares = {q: (_negations(old), _negations(new)) for q, (old, new) in changed.items()}
    more = tuple(q for q, (old, new) in shares.items() if new >= MOSTLY and old <= SELDOM)
    less = sum(old >= MOSTLY and new <= SELDOM for old, new in shares.values())
    if len(more) < max(MANY * of, 3 * less):
        return None
    return _found(f"{len(more)} answers say not in most sentences, and last night's did not.", more, of)


def _negations(text: _Answer) -> float:
    """The share of sentences with a negation."""
    return sum(bool(_NEGATION.search(sentence)) for sentence in text.sentences) / max(len(text.sentences), 1)


def _opened_alike(texts: dict[int, Pair], of: int) -> StrangeAnswers | None:
    """Answers most of whose sentences begin with the same words, also to other questions, while last night's did
    not."""
    before, after = ({q: _openings(pair[side]) for q, pair in texts.items()} for side in (0, 1))
    counts = Counter(opening for openings in after.values() for opening in openings)
    if not counts:
        return None
    opening, count = min(counts.items(), key=lambda item: (-item[1], item[0]))
    if count < MANY * of or count <= 3 * sum(opening in openings for openings in before.values()):
        return None
    found = tuple(q for q in texts if opening in after[q] and opening not in before[q])
    what = f'{len(found)} answers begin most sentences with "{opening}", and last night\'s did not.'
    return _found(what, found, of)


def _openings(text: _Answer) -> set[str]:
    """The words with which most sentences begin."""
    begun = Counter(" ".join(islice(_words_in(one[:200]), OPENING)).lower()[:60] for one in text.sentences)
    most = len(text.sentences) / 2
    return {words for words, count in begun.items() if words.count(" ") == OPENING - 1 and count > most}


def _words_in(text: str) -> Iterator[str]:
    return (found[0] for found in _WORD.finditer(text))


def _shorter(changed: dict[int, Pair], of: int) -> StrangeAnswers | None:
    if len(changed) < 0.5 * of or len(changed) < LEAST:
        return None
    ratios = {q: new.length / max(old.length, 1) for q, (old, new) in changed.items()}
    if median(ratios.values()) >= SHORTER:
        return None
    return StrangeAnswers(
        "The answers are much shorter than last night's.", tuple(sorted(ratios, key=ratios.__getitem__))
    )


def _another_language(changed: dict[int, Pair], of: int, language: str) -> StrangeAnswers | None:
    spoken = Language(language)
    usual = set() if language in WITHOUT_STOP_WORDS else spoken.stop_words()

    def share(text: str) -> float:
        words = spoken.find(text)
        return sum(word in usual for word in words) / max(len(words), 1)

    def foreign(old: _Answer, new: _Answer) -> bool:
        if _letters(new) != _letters(old):
            return True
        return new.length >= 8 and share(new) < RARE * USUAL and share(old) >= USUAL

    found = tuple(q for q, (old, new) in changed.items() if foreign(old, new))
    return _found(f"{len(found)} answers are in another language than last night's.", found, of)


def _letters(text: str) -> str:
    """The script that most letters of a text are of, by their Unicode block."""
    if text.isascii():
        return "latin"
    letters = Counter("latin" if ord(char) < 0x250 else hex(ord(char) >> 8) for char in text[:2000] if char.isalpha())
    return letters.most_common(1)[0][0] if letters else ""


def _unlike(changed: dict[int, Pair], of: int, language: str) -> StrangeAnswers | None:
    """Answers that have hardly a word in common with those of last night, or no more than answers to different
    questions."""
    if len(changed) < 0.5 * of or len(changed) < LEAST:
        return None
    find = Language(language).find
    words = {q: (set(find(old)), set(find(new))) for q, (old, new) in changed.items()}
    shares = {q: _overlap(old, new) for q, (old, new) in words.items()}
    others = [*list(words.values())[1:], *list(words.values())[:1]]
    apart = [_overlap(old, new) for (old, _), (_, new) in zip(words.values(), others, strict=True)]
    if median(shares.values()) >= min(UNLIKE + median(apart), 1.0):
        return None
    what = "The answers have hardly a word in common with last night's."
    if median(shares.values()) >= UNLIKE:
        what = "The answers are no more like last night's than answers to other questions are."
    return StrangeAnswers(what, tuple(sorted(shares, key=shares.__getitem__)))


def _overlap(one: set[str], other: set[str]) -> float:
    return len(one & other) / max(min(len(one), len(other)), 1)


def questions_of(found: Sequence[StrangeAnswers]) -> Iterator[int]:
    """The questions to read first: of each kind, a few."""
    for one in found:
        if one.empty:
            continue
        yield from one.questions[: 2 * ENOUGH]
