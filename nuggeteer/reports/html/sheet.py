"""A judging sheet: one HTML page with questions for an assessor, who judges in a browser and hands back a file.

The page is the terminal's session without a tool: it asks the same pairs in the same order, and fetches nothing. It is
blind. Nothing in it says what the tool guesses, so no word of an answer is marked. `collection.importing` takes what it
hands back. Texts are hostile here too: they are data in a script element that no browser runs, the page's own script
puts them in as text only, and the policy of the report's page holds (`reports.html`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from nuggeteer.comparing.sightings import Passage
from nuggeteer.formats.jsonl import write_whole
from nuggeteer.judging.filters import Filter, check_filter
from nuggeteer.judging.state import JudgingState, PendingPair
from nuggeteer.judging.suggest import Suggestion
from nuggeteer.records import Nugget
from nuggeteer.reports.formatting import importance
from nuggeteer.reports.html import in_script, part, policy, render
from nuggeteer.reports.passages import excerpt
from nuggeteer.text import verdict_form

COUNT = 50  # questions on a sheet, unless the command says how many
EXAMPLES, EXAMPLE = 3, 200  # texts judged yes that are shown with a nugget, and characters of each


@dataclass(frozen=True)
class Sheet:
    """What a page asks. `data` is all that its script knows; `name` identifies it by its content. `drawn` are the pairs
    that were drawn at random, and not chosen by a filter."""

    title: str
    name: str
    asked: int
    qids: list[str]
    data: dict[str, Any]
    drawn: list[Suggestion]


def make_sheet(state: JudgingState, count: int, only: Filter, audit: Iterable[PendingPair] | None = None) -> Sheet:
    """The first `count` open questions in the order of `judge`, or those of an audit."""
    check_filter(state, only)
    key = state.key
    pairs = list(islice(_open_pairs(state, only, audit), count))
    nuggets: dict[int, dict[str, Any]] = {}
    answers: dict[tuple[int, int], dict[str, Any]] = {}
    forms: dict[int, dict[str, int]] = {}
    asked = []
    for pair in pairs:
        question = int(key.question[pair.nugget])
        if (pair.side, question) not in answers:
            answers[pair.side, question] = _answer(state, pair.side, question, forms.setdefault(question, {}))
        if pair.nugget not in nuggets:
            nuggets[pair.nugget] = _nugget(state, pair.nugget, forms[question])
        responses = state.responses(pair.side, pair.nugget)
        asked.append(
            {
                "nugget": list(nuggets).index(pair.nugget),
                "answer": list(answers).index((pair.side, question)),
                "response": pair.response - responses.start if pair.response >= 0 else -1,
                "known": [state.verdict(pair.side, pair.nugget, response) for response in responses],
                "recorded": _recorded(pair),
            }
        )
    data: dict[str, Any] = {
        "collection": state.collection.root.resolve().name,
        "run": state.title,
        "asked": asked,
        "nuggets": list(nuggets.values()),
        "answers": list(answers.values()),
    }
    data["page"] = blake2b(orjson.dumps(data), digest_size=8).hexdigest()
    qids = list(dict.fromkeys(nugget["qid"] for nugget in nuggets.values()))
    drawn = [pair.drawn for pair in pairs if pair.drawn is not None] if str(only) == "all" else []
    return Sheet(state.title, data["page"], len(asked), qids, data, drawn)


def _open_pairs(state: JudgingState, only: Filter, audit: Iterable[PendingPair] | None) -> Iterator[PendingPair]:
    """What is to be asked, each once. A text that both runs return is asked about once."""
    seen = set()
    for pair in state.pending_pairs() if audit is None else audit:
        responses = state.responses(pair.side, pair.nugget)
        verdicts = [state.verdict(pair.side, pair.nugget, response) for response in responses]
        text = verdict_form(state.run(pair.side).texts[pair.response]) if pair.response >= 0 else None
        key = pair.nugget, text
        if key not in seen and only(state.key.nuggets[pair.nugget]) and None in verdicts and True not in verdicts:
            seen.add(key)
            yield pair


def _recorded(pair: PendingPair) -> dict[str, Any]:
    """What each verdict on a pair is marked with, as in the terminal. The page passes it on without looking."""
    return {} if pair.audit is None else {"audit": dict(pair.audit)}


def _answer(state: JudgingState, side: int, question: int, forms: dict[str, int]) -> dict[str, Any]:
    """An answer. Texts of a question with the same number are the same for a verdict; `forms` has the numbers."""
    run, key = state.run(side), state.key
    positions = range(int(run.offsets[question]), int(run.offsets[question + 1]))
    same = [forms.setdefault(verdict_form(run.texts[p]), len(forms)) for p in positions]
    asked = key.questions[question]
    return {
        "question": asked.text,
        "target": asked.target,
        "run": run.name,
        "whole": run.answer(question) if run.parts is not None else None,  # else its texts, joined by line feeds
        "responses": [
            {"text": run.texts[p], "docid": run.docid(p), "same": number}
            for p, number in zip(positions, same, strict=True)
        ],
    }


def _nugget(state: JudgingState, position: int, shown_too: Mapping[str, int]) -> dict[str, Any]:
    nugget: Nugget = state.key.nuggets[position]
    texts = [text for same, text in state.examples(position).items() if same not in shown_too]
    shown = [
        "".join(part for part, _ in excerpt(Passage(text, state.marks(text, position), None, 1), EXAMPLE))
        for text in texts[:EXAMPLES]
    ]
    return {
        "qid": nugget.qid,
        "nugget": nugget.nugget,
        "descriptions": list(nugget.descriptions),
        "importance": importance(nugget),
        "tags": list(nugget.tags),
        "examples": shown,
        "more": len(texts) - len(shown),
    }


def page(sheet: Sheet) -> str:
    """The page."""
    from markupsafe import Markup

    style, script = part("theme.css") + part("sheet.css"), part("sheet.js")
    return render(
        "sheet.html",
        title=sheet.title,
        collection=sheet.data["collection"],
        policy=policy(style, script),
        style=Markup(style),
        script=Markup(script),
        data=Markup(in_script(sheet.data)),
    )


def write(path: Path, sheet: Sheet) -> None:
    """The page as a file, whole or not at all."""
    body = page(sheet).encode()
    write_whole(path, lambda file: file.write(body))
