"""A card laid out as lines of text of a given width, for the terminal application and for plain lines.

Texts from files are escaped here (`text.escaped`) and kept in rich `Text`, which reads no markup. Nothing depends on
colour: marked words are underlined (in « » on plain lines), and what is in view has a > before it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from math import ceil

from rich.console import Console
from rich.text import Text

from nuggeteer.comparing.sightings import Passage
from nuggeteer.judging.cards import Card, ShownResponse
from nuggeteer.judging.forecast import Forecast
from nuggeteer.judging.session import Session
from nuggeteer.matching.marks import Span
from nuggeteer.reports.formatting import (
    between,
    chance,
    counted,
    forecast_words,
    importance,
    number,
    open_by,
    signed,
    signed_span,
    span,
)
from nuggeteer.reports.passages import excerpt, in_words
from nuggeteer.statistics.intervals import Interval
from nuggeteer.text import escaped, says_nothing

MARK, QUIET, HEAD, CHOSEN = "bold underline", "dim", "bold", "reverse"
EXAMPLES, EXAMPLE = 2, 150  # texts judged yes that are shown, and characters of each
AHEAD = (10, 20)  # minutes
LEGIBLE = 40  # characters: less of a text says nothing
_BOX = {None: "[ ]", "yes": "[y]", "no": "[n]", "contradicts": "[c]"}
_console = Console(markup=False, highlight=False, emoji=False, width=80)


@dataclass(frozen=True)
class Pane:
    """The lines of some things, one below the other: thing i has `lines[begins[i] : begins[i + 1]]`."""

    lines: list[Text]
    begins: list[int]

    @classmethod
    def of(cls, things: Iterable[Sequence[Text]]) -> Pane:
        lines, begins = list[Text](), [0]
        for own in things:
            lines += own
            begins.append(len(lines))
        return cls(lines, begins)

    def at(self, line: int) -> int:
        """The thing that a line belongs to."""
        return min(max(bisect_right(self.begins, line) - 1, 0), max(len(self.begins) - 2, 0))


def question_lines(card: Card, width: int) -> list[Text]:
    question = card.question
    return _wrapped(Text.assemble((escaped(question.qid), HEAD), "  ", escaped(question.text)), width, "", "")


def answer_head(card: Card) -> Text:
    """Whose answer it is."""
    size = "" if len(card.answer) == 1 else f", {counted(len(card.answer), 'response')}"
    return Text.assemble((escaped(f"The answer of {card.run}"), HEAD), (size, QUIET))


def answer_pane(card: Card, width: int, chosen: Span | None = None, plain: bool = False) -> Pane:
    """The whole answer. `chosen` are the words that the assessor is marking in the marked response. Plain lines stay
    when another nugget comes into view, so they are marked where there is only one."""
    answer = (
        [replace(one, marks=(), verdict=None) for one in card.answer]
        if plain and sum(one.asked for one in card.nuggets) > 1
        else card.answer
    )
    place, size = card.marked if chosen is None else card.marked or 0, len(card.answer)
    return Pane.of(
        _response(one, size, i == place, chosen if i == place else None, width, plain) for i, one in enumerate(answer)
    )


@lru_cache(maxsize=1024)  # a key changes little of what is in view
def _response(
    response: ShownResponse, of: int, marked: bool, chosen: Span | None, width: int, plain: bool
) -> Sequence[Text]:
    place = "" if of == 1 else f"{response.rank:>{len(str(of))}} "
    spans, mark = ((chosen,), CHOSEN) if chosen is not None else (response.marks, MARK)
    cuts = [0, *(end for part in spans for end in part), len(response.text)]
    parts = ((_as_lines(response.text[a:b]), i % 2 == 1) for i, (a, b) in enumerate(pairwise(cuts)))
    body = _marked([part for part in parts if part[0]], plain, mark)
    if response.docid is not None:
        body.append(escaped(f" · {response.docid}"), QUIET)
    if says_nothing(response.text):
        body.append(" · no words", QUIET)
    elif response.verdict is not None:
        body.append(" · judged yes" if response.verdict else " · judged no", HEAD)
    bar, more = ("> ", "| ") if marked else ("  ", "  ")
    return tuple(_wrapped(body, width, bar + place, more + " " * len(place)))


def _as_lines(text: str) -> str:
    """The lines of a text, since answers may have lists, tables and code."""
    return "\n".join(escaped(re.sub(r"\s+", " ", line)) for line in re.sub(r"\s*\n\s*\n", "\n\n", text).split("\n"))


def nugget_head(card: Card) -> Text:
    asked = sum(shown.asked for shown in card.nuggets)
    what = "Does the answer have it?" if asked == 1 else f"Which of these {asked} nuggets does it have?"
    if card.marked is not None:
        what = f"Does response {card.marked + 1} have it?" if len(card.answer) > 1 else what
    left = f"{card.left} open" if card.left else "all decided"
    return Text.assemble((what, HEAD), (f"  {left}" if asked > 1 else "", QUIET))


def nugget_pane(card: Card, width: int) -> Pane:
    """The nuggets of the card, with what is known of each. A verdict changes no line's place."""
    return Pane.of(
        _row(one.nugget.descriptions, one.nugget.importance, one.word, one.asked, i == card.in_view, width)
        for i, one in enumerate(card.nuggets)
    )


@lru_cache(maxsize=1024)
def _row(
    descriptions: Sequence[str], importance: str, word: str | None, asked: bool, in_view: bool, width: int
) -> Sequence[Text]:
    body = Text(escaped(" / ".join(descriptions)), HEAD if in_view else "" if asked else QUIET)
    if not asked:
        body.append(" · known before")
    head = f"{'>' if in_view else ' '} {_BOX[word]} {importance:<5}  "
    return tuple(_wrapped(body, width, head, " " * len(head)))


def notes(card: Card, width: int) -> list[Text]:
    """What is to be known of the nugget in view, on one line, so that a reason moves nothing; the guess and its
    explanation, if shown."""
    nugget = card.nugget
    about = Text("" if card.reason is None else f"reason: {escaped(card.reason)} · ")
    about.append(escaped(", ".join((f"nugget {nugget.nugget}: {importance(nugget)}", *nugget.tags))), QUIET)
    for text, marks in card.examples[:1]:
        about.append(f" · {counted(len(card.examples), 'text')} judged yes", QUIET)
        if (room := width - len(about) - 2) >= LEGIBLE:
            about.append(": ", QUIET)
            about.append_text(_example(card, excerpt(Passage(text, marks, None, 1), room), False))
    lines = [about]
    if card.guess is not None:
        probability, score = card.guess
        likely = "no probability" if probability is None else f"{chance(probability)} that the answer has it"
        lines.append(Text(f"guess: {likely}; match {number(score, 2)}"))
    if card.explanation is not None:
        lines += [Text(f"  {line}", QUIET) for line in in_words(card.explanation, width - 2)]
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines


def asked_lines(card: Card, width: int) -> list[Text]:
    """The nugget in view by itself, for plain lines."""
    nugget = card.nugget
    heading = ", ".join((f"nugget {nugget.nugget}: {importance(nugget)}", *nugget.tags))
    lines = _wrapped(Text(escaped(heading)), width, "", "")
    for description in nugget.descriptions:
        lines += _wrapped(Text(escaped(description), HEAD), width, "  ", "  ")
    for text, marks in card.examples[:EXAMPLES]:
        short = _example(card, excerpt(Passage(text, marks, None, 1), EXAMPLE), True)
        lines += _wrapped(Text.assemble("judged yes: ", short), width, "  ", "  ")
    if len(card.examples) > EXAMPLES:
        lines.append(Text(f"  and {len(card.examples) - EXAMPLES} more judged yes"))
    word = card.nuggets[card.in_view].word
    return [*lines, Text(f"  you said {word}")] if word else [*lines, *notes(card, width)[1:]]


def known_lines(card: Card, width: int) -> list[Text]:
    """What was known of the answer before, for plain lines."""
    known = [one for one in card.nuggets if not one.asked]
    texts = [Text(escaped(f"known: {one.word}, {one.nugget.descriptions[0]}")) for one in known]
    return [line for text in texts for line in _wrapped(text, width, "", "  ")]


def _example(card: Card, parts: Sequence[tuple[str, bool]], plain: bool) -> Text:
    """Part of a text judged yes. In an audit it is shortened in the same way, but nothing is marked."""
    return _marked([(text, marked and not card.blind) for text, marked in parts], plain)


def _marked(parts: Sequence[tuple[str, bool]], plain: bool, mark: str = MARK) -> Text:
    result = Text()
    for text, marked in parts:
        if marked:
            result.append(f"«{text}»" if plain else text, mark)
        else:
            result.append(text)
    return result


def _wrapped(text: Text, width: int, first: str, others: str) -> list[Text]:
    lines = text.wrap(_console, max(width - len(first), 10), tab_size=1) or [Text()]
    return [Text.assemble(others if i else first, line) for i, line in enumerate(lines)]


def status(session: Session, width: float | None, working: bool) -> tuple[str, str]:
    """The two status lines of a session, with dots while a score is being worked out. In an audit, a score that moves
    with each verdict would reveal the guesses."""
    state, left = session.state, session.minutes_left
    title, measure, dots = state.title, state.measure.title, "  …" if working else ""
    given = [_time(left)] if left is not None else []
    verdicts = counted(session.total, "verdict")
    if session.audit is not None:
        units = f"{session.left()} of {len(session.audit)} left, about {counted(ceil(session.audit_minutes), 'minute')}"
        return f"{title}  {measure} stays hidden in an audit", "; ".join([*given, f"audit: {units}", verdicts])
    if not state.is_scored:
        return f"{title}  {measure}{dots or ' is not worked out yet'}", "; ".join([*given, verdicts])
    first = headline(title, measure, state.interval, len(state.matched_runs) > 1)
    ahead = forecast_line(state.forecast, width, left)
    if state.forecast is not None and session.asked and not state.tells(session.asked.question):
        ahead = f"No verdict on this answer moves {measure}"
    return f"{first}  {verdicts}{dots}", ". ".join([*given, ahead])


def _time(left: float) -> str:
    return f"{counted(ceil(left), 'minute')} left" if left else "the time is over, this answer is the last"


def headline(title: str, measure: str, interval: Interval, difference: bool) -> str:
    """The first status line: a score with its interval, or a difference on these questions."""
    if interval.value is None:
        return f"{title}  {measure} is undefined"
    low, high = interval.judging or (None, None)
    if difference:
        return f"{title}  {measure} {signed(interval.value)}  guesses {signed_span(low, high)}"
    line = f"{title}  {measure} {number(interval.value)}"
    return f"{line}  95 % {between(interval)}  guesses {span(low, high)}"


def forecast_line(forecast: Forecast | None, width: float | None, left: float | None) -> str:
    """What the model expects reading to bring: until a `width`, or in the minutes that are `left`."""
    if forecast is None:
        return "This threshold model gives no probabilities"
    now = f"Guesses alone leave {number(forecast.now)} open"
    if width is not None:
        if forecast.now <= width:
            return f"{now}: the target {width:g} is reached"
        needed = forecast.minutes_for(width)
        if needed is None:
            return f"{now}; reading all is not likely to make it {width:g}"
        verdicts = counted(forecast.verdicts_after(needed), "verdict")
        return f"{now}; for {width:g}, about {counted(ceil(needed), 'minute')} ({verdicts})"
    if left == 0:
        return now
    if left is not None:
        return f"{now}; after that, probably {open_by(forecast.width_after(left))}"
    likely = forecast_words(forecast, AHEAD)
    return f"{now}; {likely}" if likely else now
