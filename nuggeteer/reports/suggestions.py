"""The answers to read next, and what reading them is expected to bring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from rich.console import Console

from nuggeteer.fields import Count, Ends, Number, Part, Share, about, copied
from nuggeteer.judging.forecast import Forecast
from nuggeteer.judging.reading_order import Suggestion, first_cards
from nuggeteer.judging.state import JudgingState
from nuggeteer.records import AnswerKey, Run
from nuggeteer.reports.formatting import forecast_words, number, open_by
from nuggeteer.reports.passages import beginning
from nuggeteer.reports.terminal import left, right, say, table, wrap

AFTER = (10, 20, 40)  # minutes
TINY = 1e-6  # of a width: rounding leaves this much even if all is read


def _runs(state: JudgingState) -> list[Run]:
    return [matched.run for matched in state.matched_runs]


class SuggestedVerdict(Part):
    """A verdict that is worth giving."""

    qid: str
    nugget: str
    run: str
    scope: Annotated[
        Literal["response", "answer"], about("Whether the verdict is on one response or on the whole answer.")
    ]
    rank: Annotated[Count, about("Of the response.")]
    docid: str | None
    text: str
    probability: Annotated[Share | None, about("That it is a yes.")]
    share: Annotated[
        Number, about("The share of the judging variance that this verdict is expected to remove by itself.")
    ]
    seconds: Annotated[float, about("What this verdict takes after those before it.")]

    @classmethod
    def of(cls, key: AnswerKey, runs: Sequence[Run], suggestion: Suggestion) -> SuggestedVerdict:
        nugget, run = key.nuggets[suggestion.nugget], runs[suggestion.run]
        whole = suggestion.scope == "answer"
        return copied(
            cls,
            suggestion,
            qid=nugget.qid,
            nugget=nugget.nugget,
            run=run.name,
            rank=run.rank(suggestion.response),
            docid=None if whole else run.docid(suggestion.response),
            text=run.answer(key.position[nugget.qid]) if whole else run.texts[suggestion.response],
        )


class SuggestionsOutput(Part):
    """At least as many verdicts as asked for, in the order in which they are asked, those of one answer together."""

    run: str
    against: str | None
    measure: str
    value: Number
    judging: Ends | None
    suggestions: Sequence[SuggestedVerdict]
    width_after: Annotated[
        Mapping[str, Number] | None,
        about(
            "The expected width of the judging part after `0` minutes of reading, and after "
            f"{' and '.join(f'`{minutes}`' for minutes in AFTER)}; null with a fixed threshold."
        ),
    ]


def as_json(state: JudgingState, count: int) -> dict[str, Any]:
    ahead, runs = state.forecast, _runs(state)
    return SuggestionsOutput(
        run=runs[0].name,
        against=runs[1].name if len(runs) > 1 else None,
        measure=state.measure.name,
        value=state.interval.value,
        judging=state.interval.judging,
        suggestions=[
            SuggestedVerdict.of(state.key, runs, suggestion)
            for card in first_cards(state.cards, count)
            for suggestion in card.suggestions
        ],
        width_after=None if ahead is None else {str(m): _width(ahead, m) for m in (0, *AFTER)},
    ).as_data()


def _width(ahead: Forecast, minutes: int) -> float:
    width = ahead.width_after(minutes)
    return width if width > TINY else 0.0


def draw(out: Console, state: JudgingState, count: int) -> None:
    """One line for each answer, and how wide the judging part is likely to be after some minutes."""
    if state.forecast is None:
        unsure = "A fixed threshold cannot say how sure its guesses are"
        say(out, f"{unsure}, so no answer is more worth reading than another.")
        return
    runs = _runs(state)
    names = state.title
    if not state.cards:
        say(out, f"{names}: no verdict would make the interval of {state.measure.title} narrower.")
        return
    sheet = table(f"{names}: to read next", left("qid", "run") + right("nuggets", "minutes") + wrap("answer"))
    for card in first_cards(state.cards, count):
        for side in dict.fromkeys(suggestion.run for suggestion in card.suggestions):
            own = [suggestion for suggestion in card.suggestions if suggestion.run == side]
            text = beginning(runs[side].answer(card.question), 80)
            minutes = sum(suggestion.seconds for suggestion in own) / 60
            qid = state.key.questions[card.question].qid
            sheet.add_row(qid, runs[side].name, str(len(own)), number(minutes, 1), text)
    out.print(sheet)
    out.print()
    what = state.measure.title if len(runs) == 1 else f"Change of {state.measure.title}"
    later = forecast_words(state.forecast, AFTER)
    say(out, f"{what}: guesses alone leave {open_by(state.forecast.now)} open{'; ' if later else ''}{later}.")
