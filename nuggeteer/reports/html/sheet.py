"""A judging sheet: one HTML page with answers for an assessor, who judges in a browser and hands back a file.

The page is the terminal's session without the tool: it asks about the same answers in the same order, and fetches
nothing. It is blind. Nothing in it says what the tool guesses, so no word of an answer is marked.
`collection.importing` takes what it hands back. Texts are hostile here too: they are data in a script element that no
browser runs, the page's own script puts them in as text only, and the policy of the report's page holds
(`reports.html`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import ceil
from pathlib import Path
from typing import Annotated, Any

import orjson
from rich.console import Console

from nuggeteer.comparing.sightings import Passage
from nuggeteer.fields import Count, Part, about, copied
from nuggeteer.formats.jsonl import write_file
from nuggeteer.judging.cards import Filter, check_filter
from nuggeteer.judging.state import AnswerCard, JudgingState
from nuggeteer.reports.formatting import counted, importance
from nuggeteer.reports.html import in_script, render
from nuggeteer.reports.passages import excerpt
from nuggeteer.reports.terminal import say_whole
from nuggeteer.text import verdict_form

COUNT = 50  # verdicts on a sheet, unless the command says how many, or how many minutes
EXAMPLES, EXAMPLE = 3, 200  # texts judged yes that are shown with a nugget, and characters of each


@dataclass(frozen=True)
class Sheet:
    """What a page asks, and the `minutes` that it is likely to take. `data` is all that its script knows. `name`
    identifies the page by its content."""

    title: str
    name: str
    asked: int
    minutes: float
    qids: list[str]
    data: dict[str, Any]


def make_sheet(
    state: JudgingState,
    only: Filter,
    count: int | None = None,
    minutes: float | None = None,
    audit: Sequence[AnswerCard] | None = None,
    pairs: bool = False,
) -> Sheet:
    """The first open cards in the order of `judge`, until there are `count` verdicts or `minutes` of reading; or those
    of an audit. The last answer is asked about whole. With `pairs`, a card has one response and one nugget."""
    check_filter(state, only)
    if count is None and minutes is None and audit is None:
        count = COUNT
    cards, each, asked, seconds = list[AnswerCard](), list[float](), 0, 0.0
    for card, costs in _open_cards(state, only, audit, pairs):
        if asked >= (count or asked + 1) or seconds >= 60 * (minutes or seconds + 1):
            break
        cards.append(card)
        each.append(costs)
        asked, seconds = asked + len(card.nuggets), seconds + costs
    key = state.key
    answers = list(dict.fromkeys((card.side, card.question, card.response) for card in cards))
    nuggets = list(dict.fromkeys(nugget for card in cards for nugget in card.nuggets))
    place = {nugget: i for i, nugget in enumerate(nuggets)}
    data: dict[str, Any] = {
        "collection": state.collection.root.resolve().name,
        "run": state.title,
        "cards": [
            {
                "answer": answers.index((card.side, card.question, card.response)),
                "seconds": round(costs, 1),
                "nuggets": [place[nugget] for nugget in card.nuggets],
                "known": [
                    [key.nuggets[nugget].descriptions[0], state.verdict(card.side, nugget)]
                    for nugget in state.known(card.side, card.question)
                ],
                # What each verdict is marked with, as in the terminal. The page passes it on without looking.
                "recorded": {"run_hash": state.run_hashes[card.side]}
                | ({} if card.audit is None else {"audit": dict(card.audit)}),
            }
            for card, costs in zip(cards, each, strict=True)
        ],
        "nuggets": [_nugget(state, nugget, [card for card in cards if nugget in card.nuggets]) for nugget in nuggets],
        "answers": [_answer(state, *answer) for answer in answers],
    }
    data["page"] = blake2b(orjson.dumps(data), digest_size=8).hexdigest()
    qids = list(dict.fromkeys(nugget["qid"] for nugget in data["nuggets"]))
    return Sheet(state.title, data["page"], asked, seconds / 60, qids, data)


def _open_cards(
    state: JudgingState, only: Filter, audit: Sequence[AnswerCard] | None, pairs: bool
) -> Iterator[tuple[AnswerCard, float]]:
    """What is to be asked, each with its seconds. An answer that both runs return is asked about once."""
    seen, key = set[tuple[int, str]](), state.key
    cards = state.pairs() if pairs else state.answers()
    for card in cards if audit is None else audit:
        run = state.run(card.side)
        form = verdict_form(run.answer(card.question) if card.response is None else run.texts[card.response])
        open_ = [n for n in card.nuggets if only(key.nuggets[n]) and state.verdict(card.side, n) is None]
        if nuggets := tuple(n for n in open_ if (n, form) not in seen):
            seen.update((nugget, form) for nugget in nuggets)
            asked = replace(card, nuggets=nuggets)
            yield asked, state.seconds(asked)


def _answer(state: JudgingState, side: int, question: int, response: int | None) -> dict[str, Any]:
    run, asked = state.run(side), state.key.questions[question]
    positions = state.responses(side, question) if response is None else [response]
    return {
        "question": asked.text,
        "target": asked.target,
        "run": run.name,
        "title": state.titles[side],
        "whole": run.answer(question)
        if run.parts is not None and response is None
        else None,  # else its texts, joined by line feeds
        "responses": [{"text": run.texts[position], "docid": run.docid(position)} for position in positions],
    }


def _nugget(state: JudgingState, position: int, cards: Sequence[AnswerCard]) -> dict[str, Any]:
    """A nugget, with texts judged yes for it that are in none of the answers asked about."""
    nugget = state.key.nuggets[position]
    shown_too = {
        verdict_form(state.run(card.side).texts[place])
        for card in cards
        for place in state.responses(card.side, card.question)
    }
    texts = [text for same, text in state.examples(position).items() if same not in shown_too]
    shown = [
        "".join(part for part, _ in excerpt(Passage(text, state.marks(text, position), None, 1), EXAMPLE))
        for text in texts[:EXAMPLES]
    ]
    return {
        "qid": nugget.qid,
        "nugget": nugget.nugget,
        "descriptions": list(nugget.descriptions),
        "hash": nugget.hash,
        "importance": importance(nugget),
        "tags": list(nugget.tags),
        "examples": shown,
        "more": len(texts) - len(shown),
    }


def page(sheet: Sheet) -> str:
    """The page."""
    values = {"title": sheet.title, "collection": sheet.data["collection"], "data": in_script(sheet.data)}
    return render("sheet.html", "sheet.css", "sheet.js", **values)


def write(path: Path, sheet: Sheet) -> None:
    """The page as a file, whole or not at all."""
    write_file(path, page(sheet).encode())


class SheetOutput(Part):
    """A page that was written for an assessor."""

    file: str
    run: str
    page: Annotated[str, about("Its name, which stands in every line that it hands back.")]
    asked: Annotated[Count, about("How many verdicts it asks for.")]
    minutes: Annotated[float, about("How long that is likely to take.")]
    qids: Sequence[str]


def as_json(sheet: Sheet, path: Path) -> dict[str, Any]:
    return copied(SheetOutput, sheet, file=str(path), run=sheet.title, page=sheet.name).as_data()


def draw(out: Console, sheet: Sheet, path: Path) -> None:
    asked = f"{counted(sheet.asked, 'verdict')} on answers to {counted(len(sheet.qids), 'question')}"
    takes = f"about {counted(ceil(sheet.minutes), 'minute')} of reading"
    say_whole(out, f"{path} asks for {asked} of {sheet.title}, {takes}.")
    say_whole(out, "Send it to an assessor; any browser opens it. Take what comes back with")
    say_whole(out, "  nuggeteer judge --import FILE --assessor NAME")
