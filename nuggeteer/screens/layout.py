"""A question laid out as lines of text of a given width, for the terminal application and for plain lines.

Texts from files are escaped here (`text.escaped`) and kept in rich `Text`, which reads no markup. Nothing depends on
colour: marked words are underlined (in « » on plain lines), and the response in question has bars.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from nuggeteer.comparing.sightings import Passage
from nuggeteer.judging.cards import Card, ShownResponse
from nuggeteer.judging.state import JudgingState
from nuggeteer.judging.suggest import Forecast
from nuggeteer.matching.marks import Span
from nuggeteer.reports.explanation import in_words
from nuggeteer.reports.formatting import chance, importance, number, span
from nuggeteer.reports.passages import excerpt, pieces
from nuggeteer.statistics.intervals import Interval
from nuggeteer.text import escaped

MARK, QUIET, HEAD, CHOSEN = "bold underline", "dim", "bold", "reverse"
EXAMPLES, EXAMPLE = 2, 150  # how many are shown above the answer, and characters of each
NEIGHBOUR = 150  # characters of another response on plain lines, which do not scroll
_console = Console(markup=False, highlight=False, emoji=False, width=80)


@dataclass(frozen=True)
class Page:
    """`asked` is the question and the nugget; `answer` has the responses and then all examples. The response in
    question begins at line `top` of `answer` and ends before `bottom`."""

    asked: list[Text]
    answer: list[Text]
    top: int
    bottom: int


def lay_out(card: Card, width: int, room: int | None = None, chosen: Span | None = None, plain: bool = False) -> Page:
    """Lay out a whole card.

    The question takes at most `room` lines; if it needs more, it is repeated in full below the answer. `chosen` are the
    words that the assessor is marking. `plain` lines do not scroll: marks are set in « », and the other responses and
    the examples are shortened."""
    asked, notes = _asked(card, width, plain), _notes(card, width)
    whole: list[Text] = []
    if room is not None and len(asked) + len(notes) > room:
        more = Text("  … and more, below the answer", QUIET)
        asked, whole = [*asked[: max(room - len(notes) - 1, 1)], more], asked
    answer: list[Text] = []
    top = bottom = 0
    for i, response in enumerate(card.answer):
        focus = i == card.focus
        if focus:
            top = len(answer)
        answer += _response(response, len(card.answer), width, focus, chosen if focus else None, plain)
        if focus:
            bottom = len(answer)
    if card.examples and not plain:
        answer += [Text(), Text("Responses judged yes for this nugget:", HEAD)]
        for text, marks in card.examples:
            answer += _wrapped(_example(card, pieces(_passage(text, marks)), plain), width, "  ")
    if whole:
        answer += [Text(), Text("The question and the nugget in full:", HEAD), *whole]
    return Page(asked + notes, answer, top, bottom)


def _asked(card: Card, width: int, plain: bool) -> list[Text]:
    question, nugget = card.question, card.nugget
    lines = _wrapped(Text.assemble((escaped(question.qid), HEAD), "  ", escaped(question.text)), width, "")
    heading = Text.assemble("nugget ", escaped(nugget.nugget), ": ", (importance(nugget), HEAD))
    if nugget.tags:
        heading.append(escaped(f" · {', '.join(nugget.tags)}"), QUIET)
    lines += _wrapped(heading, width, "")
    for description in nugget.descriptions:
        lines += _wrapped(Text(escaped(description), HEAD), width, "  ")
    for text, marks in card.examples[:EXAMPLES]:
        short = _example(card, excerpt(_passage(text, marks), min(EXAMPLE, width - 12)), plain)
        lines += _wrapped(Text.assemble(("yes: ", QUIET), short), width, "  ")
    if len(card.examples) > EXAMPLES:
        where = "" if plain else ", below the answer"
        lines += [Text(f"  and {len(card.examples) - EXAMPLES} more judged yes{where}", QUIET)]
    return lines


def _notes(card: Card, width: int) -> list[Text]:
    """The guess and its explanation, if shown, and the reason given; one line each."""
    lines = []
    if card.guess is not None:
        probability, score = card.guess
        likely = "no probability" if probability is None else f"{chance(probability)} that it is there"
        lines.append(Text(f"guess: {likely}; match {number(score, 2)}"))
    if card.explanation is not None:
        lines += [Text(f"  {line}", QUIET) for line in in_words(card.explanation, width - 2)]
    if card.reason is not None:
        lines.append(Text(f"reason: {escaped(card.reason)}"))
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines


def _response(
    response: ShownResponse, of: int, width: int, focus: bool, chosen: Span | None, plain: bool
) -> list[Text]:
    head = Text.assemble(("> " if focus else "  "), f"response {response.rank} of {of}", style=HEAD if focus else QUIET)
    if response.docid is not None:
        head.append(escaped(f" · {response.docid}"), QUIET)
    if response.verdict is not None:
        head.append(" · judged yes" if response.verdict else " · judged no", HEAD if response.verdict else "")
    head.truncate(width, overflow="ellipsis")
    if plain and not focus:
        body = _marked(excerpt(_passage(response.text, response.marks), NEIGHBOUR), QUIET, plain)
    elif chosen is not None:
        body = _marked(pieces(_passage(response.text, (chosen,))), "", plain, CHOSEN)
    else:
        body = _marked(pieces(_passage(response.text, response.marks)), "" if focus else QUIET, plain)
    return [head, *_wrapped(body, width, "| " if focus else "  ")]


def _example(card: Card, parts: Sequence[tuple[str, bool]], plain: bool) -> Text:
    """Part of a text judged yes. In an audit it is shortened in the same way, but nothing is marked."""
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


def status(state: JudgingState, judged: int, width: float | None, working: bool) -> tuple[str, str]:
    """The two status lines of a session, with dots while a score is being worked out."""
    title, measure, dots = state.title, state.measure.title, "  …" if working else ""
    if not state.is_scored:
        return f"{title}  {measure}{dots}", f"{judged} judged"
    first = headline(title, measure, state.interval, len(state.matched_runs) > 1)
    return f"{first}{dots}", f"{judged} judged; {forecast_line(state.forecast, width)}"


def headline(title: str, measure: str, interval: Interval, difference: bool) -> str:
    """The first status line: a score or a difference, with its interval."""
    sign = "+" if difference else ""
    if interval.value is None:
        return f"{title}  {measure} is undefined"
    line = f"{title}  {measure} {interval.value:{sign}.3f}".replace("-", "−") if difference else ""
    line = line or f"{title}  {measure} {number(interval.value)}"
    for name, part in (("95 %", (interval.low, interval.high)), ("judging", interval.judging)):
        if part and part[0] is not None and part[1] is not None:
            line += f"  {name} {_from_to(part[0], part[1], difference)}"
    return line


def audit_headline(title: str, measure: str) -> str:
    """The first status line of an audit. A score that moves with each verdict would reveal the guesses."""
    return f"{title}  {measure} stays hidden in an audit"


def _from_to(low: float, high: float, difference: bool) -> str:
    if difference:
        return f"{low:+.3f} to {high:+.3f}".replace("-", "−")
    return span(low, high)


def forecast_line(forecast: Forecast | None, width: float | None) -> str:
    """What the model expects further verdicts to bring."""
    if forecast is None:
        return "this threshold model gives no probabilities"
    low, high = forecast.now
    if width is None:
        counts = sorted({min(k, int(forecast.judgements[-1])) for k in (10, 50)} - {0})
        likely = ", ".join(f"{forecast.width_after(k):.3f} after {k} more" for k in counts)
        return f"judging {high - low:.3f} wide{likely and f'; likely {likely}'}"
    if high - low <= width:
        return f"judging {high - low:.3f} wide: the target {width:g} is reached"
    needed = forecast.needed(width)
    left = "all remaining verdicts are not likely to be enough" if needed is None else f"about {needed} more verdicts"
    return f"judging {high - low:.3f} wide; for {width:g}, {left}"
