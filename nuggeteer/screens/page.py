"""A card as lines of text of a given width, for the terminal application and for plain lines alike.

Texts of files are made harmless here (`text.escaped`), and stand in rich `Text`, which reads no markup. What matters
can be seen without colour: marked words are underlined (or in « » on plain lines), the response in question has bars.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from nuggeteer.comparing.diff import Passage
from nuggeteer.judging.session import Card, ShownResponse
from nuggeteer.judging.suggest import Forecast
from nuggeteer.matching.marks import Span
from nuggeteer.records import Nugget
from nuggeteer.reports.explanation import in_words
from nuggeteer.reports.formatting import chance, number
from nuggeteer.reports.passages import excerpt, pieces
from nuggeteer.statistics.intervals import Interval
from nuggeteer.text import escaped

MARK, QUIET, HEAD, CHOSEN = "bold underline", "dim", "bold", "reverse"
EXAMPLES, EXAMPLE = 2, 150  # shown above the answer, and characters of each; all stand in full below it
NEIGHBOUR = 150  # characters of another response where there is no scrolling
_console = Console(markup=False, highlight=False, emoji=False, width=80)


@dataclass(frozen=True)
class Page:
    """`asked` is the question and the nugget, `answer` the responses and then all examples; the response in question
    begins at line `top` of it and ends before `bottom`."""

    asked: list[Text]
    answer: list[Text]
    top: int
    bottom: int


def lay_out(card: Card, width: int, room: int | None = None, chosen: Span | None = None, plain: bool = False) -> Page:
    """All of a card. What is asked takes `room` lines at most, and stands in full below the answer if it needs more.
    `chosen` are the words that the assessor is marking; `plain`, for what does not scroll, sets marks in « » and keeps
    the other responses and the examples short."""
    asked, said = _asked(card, width, plain), _said(card, width)
    whole: list[Text] = []
    if room is not None and len(asked) + len(said) > room:
        more = Text("  … and more, below the answer", QUIET)
        asked, whole = [*asked[: max(room - len(said) - 1, 1)], more], asked
    answer: list[Text] = []
    top = bottom = 0
    for place, one in enumerate(card.answer):
        focus = place == card.focus
        if focus:
            top = len(answer)
        answer += _response(one, len(card.answer), width, focus, chosen if focus else None, plain)
        if focus:
            bottom = len(answer)
    if card.examples and not plain:
        answer += [Text(), Text("Responses judged yes for this nugget:", HEAD)]
        for text, marks in card.examples:
            answer += _wrapped(_example(card, pieces(_passage(text, marks)), plain), width, "  ")
    if whole:
        answer += [Text(), Text("The question and the nugget in full:", HEAD), *whole]
    return Page(asked + said, answer, top, bottom)


def _asked(card: Card, width: int, plain: bool) -> list[Text]:
    question, nugget = card.question, card.nugget
    lines = _wrapped(Text.assemble((escaped(question.qid), HEAD), "  ", escaped(question.text)), width, "")
    said = Text.assemble("nugget ", escaped(nugget.nugget), ": ", (_importance(nugget), HEAD))
    if nugget.tags:
        said.append(escaped(f" · {', '.join(nugget.tags)}"), QUIET)
    lines += _wrapped(said, width, "")
    for description in nugget.descriptions:
        lines += _wrapped(Text(escaped(description), HEAD), width, "  ")
    for text, marks in card.examples[:EXAMPLES]:
        short = _example(card, excerpt(_passage(text, marks), min(EXAMPLE, width - 12)), plain)
        lines += _wrapped(Text.assemble(("yes: ", QUIET), short), width, "  ")
    if len(card.examples) > EXAMPLES:
        where = "" if plain else ", below the answer"
        lines += [Text(f"  and {len(card.examples) - EXAMPLES} more judged yes{where}", QUIET)]
    return lines


def _said(card: Card, width: int) -> list[Text]:
    """What was asked for, or said beforehand; a line each."""
    lines = []
    if card.guess is not None:
        probability, score = card.guess
        said = "no probability" if probability is None else f"{chance(probability)} that it is there"
        lines.append(Text(f"guess: {said}; match {number(score, 2)}"))
    if card.explanation is not None:
        lines += [Text(f"  {line}", QUIET) for line in in_words(card.explanation, width - 2)]
    if card.reason is not None:
        lines.append(Text(f"reason: {escaped(card.reason)}"))
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines


def _importance(nugget: Nugget) -> str:
    if not nugget.votes:
        return nugget.importance if nugget.weight is None else f"{nugget.importance}, weight {nugget.weight:g}"
    vital = sum(vote == "vital" for vote in nugget.votes.values())
    return f"{nugget.importance}, {vital} of {len(nugget.votes)} assessors say vital"


def _response(one: ShownResponse, of: int, width: int, focus: bool, chosen: Span | None, plain: bool) -> list[Text]:
    head = Text.assemble(("> " if focus else "  "), f"response {one.rank} of {of}", style=HEAD if focus else QUIET)
    if one.docid is not None:
        head.append(escaped(f" · {one.docid}"), QUIET)
    if one.verdict is not None:
        head.append(" · judged yes" if one.verdict else " · judged no", HEAD if one.verdict else "")
    head.truncate(width, overflow="ellipsis")
    if plain and not focus:
        body = _marked(excerpt(_passage(one.text, one.marks), NEIGHBOUR), QUIET, plain)
    elif chosen is not None:
        body = _marked(pieces(_passage(one.text, (chosen,))), "", plain, CHOSEN)
    else:
        body = _marked(pieces(_passage(one.text, one.marks)), "" if focus else QUIET, plain)
    return [head, *_wrapped(body, width, "| " if focus else "  ")]


def _example(card: Card, parts: Sequence[tuple[str, bool]], plain: bool) -> Text:
    """Some of a text judged yes; in an audit cut to what matters as elsewhere, and not marked."""
    return _marked([(text, marked and not card.blind) for text, marked in parts], "", plain)


def _passage(text: str, marks: Sequence[Span]) -> Passage:
    return Passage(text, tuple(marks), None, 1)


def _marked(parts: Sequence[tuple[str, bool]], style: str, plain: bool, mark: str = MARK) -> Text:
    result = Text(style=style)
    for text, marked in parts:
        if marked:
            result.append(f"«{text}»" if plain else text, mark)
        else:
            result.append(text)
    return result


def _wrapped(text: Text, width: int, indent: str) -> list[Text]:
    lines = text.wrap(_console, max(width - len(indent), 10), tab_size=1) or [Text()]
    return [Text.assemble(indent, line) for line in lines]


def headline(title: str, measure: str, interval: Interval, difference: bool) -> str:
    """The headline: a score, or a difference, and its interval."""
    sign = "+" if difference else ""
    if interval.value is None:
        return f"{title}  {measure} is undefined"
    said = f"{title}  {measure} {interval.value:{sign}.3f}".replace("-", "−") if difference else ""
    said = said or f"{title}  {measure} {interval.value:.3f}"
    for name, part in (("95 %", (interval.low, interval.high)), ("judging", interval.judging)):
        if part and part[0] is not None and part[1] is not None:
            said += f"  {name} {_from_to(part[0], part[1], difference)}"
    return said


def audit_headline(title: str, measure: str) -> str:
    """The headline of an audit: a score that moves with each verdict would tell what had been guessed."""
    return f"{title}  {measure} stays hidden in an audit"


def _from_to(low: float, high: float, difference: bool) -> str:
    if difference:
        return f"{low:+.3f} to {high:+.3f}".replace("-", "−")
    return f"{low:.3f}–{high:.3f}"


def forecast_line(forecast: Forecast | None, width: float | None) -> str:
    """What is left to do, as far as the model can tell."""
    if forecast is None:
        return "this threshold model cannot say how sure it is"
    low, high = forecast.now
    if width is None:
        later = ", ".join(f"{forecast.width_after(k):.3f} after {k} more" for k in (10, 50))
        return f"judging {high - low:.3f} wide; likely {later}"
    if high - low <= width:
        return f"judging {high - low:.3f} wide: the target {width:g} is reached"
    needed = forecast.needed(width)
    left = "not even all verdicts are likely to do" if needed is None else f"about {needed} more verdicts"
    return f"judging {high - low:.3f} wide; for {width:g}, {left}"
