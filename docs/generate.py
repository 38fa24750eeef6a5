"""Writes the pages that are made from the code or from other pages, and llms.txt.

python docs/generate.py
"""

from __future__ import annotations

import argparse
import json
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, UnsetType, structs

import nuggeteer
from nuggeteer.cli.main import GROUPS, parser
from nuggeteer.fields import Part, hints_of, spread_fields
from nuggeteer.formats import canonical
from nuggeteer.formats.canonical import Layout
from nuggeteer.formats.toml_settings import SECTIONS
from nuggeteer.measures import ALL
from nuggeteer.reports import (
    annotators,
    asked,
    assessors,
    automatic_nuggets,
    automatic_scores,
    briefing,
    comparison,
    crossval,
    distillation,
    experiment,
    foreign_files,
    history,
    log,
    nightly,
    nugget_history,
    plan,
    problems,
    reading_plan,
    scores,
    suggestions,
)
from nuggeteer.reports import changes as diff
from nuggeteer.reports.html import sheet, site
from nuggeteer.scoring.parameters import Parameters
from nuggeteer.settings import JudgeSettings
from nuggeteer.thresholds.prior import DOUBT, LOG_ODDS
from nuggeteer.thresholds.public_prior import BY_SCORE, BY_WORDS, CHANGE, JUDGE, SPREADS
from nuggeteer.thresholds.selection import Thresholds

DOCS = Path(__file__).parent
NOTE = "<!-- Written by docs/generate.py from {}; scripts/docs runs it. -->"


def commands() -> str:
    """The reference of commands: what `--help` says, as tables."""
    parsers = next(action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    summaries = {action.dest: action.help for action in parsers._choices_actions}
    page = [
        "# Commands",
        NOTE.format("the commands' own help"),
        "`nuggeteer COMMAND --help` prints what this page says. RUN, OLD and NEW are files, or names of runs in the\n"
        "collection. Without `--collection`, a command takes the nearest folder upwards that holds `nuggets.jsonl`.",
    ]
    table = ["| task | command | what it does |", "|---|---|---|"]
    for title, names in GROUPS.items():
        task = f"{title[0].upper()}{title[1:]}"
        for name in names:
            table.append(f"| {task} | [`{name}`](#{name}) | {cell(summaries[name])} |")
            task = ""
    page += ["\n".join(table), EXIT_CODES]
    for name in parsers.choices:
        page += command(name, parsers.choices[name])
    return "\n\n".join(page) + "\n"


EXIT_CODES = """\
| exit code | meaning |
|---|---|
| 0 | The command did its work, and every gate passed. |
| 1 | A gate failed. |
| 2 | The input or the command line is wrong. Nothing was decided. |
| 70 | A bug in Nuggeteer. |
| 130 | Somebody interrupted the command. |"""


def command(name: str, described: argparse.ArgumentParser) -> list[str]:
    page = [f"## `{name}`", described.description or ""]
    for group in described._action_groups:
        rows = [row(action) for action in group._group_actions if action.dest != "help"]
        if rows:
            title = {"positional arguments": "argument", "options": "option"}.get(group.title or "", group.title)
            page.append("\n".join([f"| {title} | meaning |", "|---|---|", *rows]))
    examples, *more = (described.epilog or "").removeprefix("examples:\n").rstrip().split("\n\n")
    page.append(f"```text\n{unindented(examples)}\n```")
    for part in more:
        title, _, lines = part.partition("\n")
        if title.endswith(":"):
            page.append(f"{title[:1].upper()}{title[1:]}\n\n```text\n{unindented(lines)}\n```")
        else:
            text = " ".join(part.split())
            page.append(text[:1].upper() + text[1:])
    return page


def row(action: argparse.Action) -> str:
    shown = ", ".join(action.option_strings)
    value = action.metavar or ("" if action.nargs == 0 else action.dest.upper())
    if action.choices:
        value = action.metavar or "{" + ",".join(map(str, action.choices)) + "}"
    if action.nargs == "?" and action.option_strings:
        value = f"[{value}]"
    elif action.nargs in ("*", "+") and not action.option_strings:
        value = f"{value} ..."
    return f"| `{' '.join(part for part in (shown, str(value)) if part)}` | {cell(action.help)} |"


def measures() -> str:
    """The reference of measures: what each says of itself."""
    page = [
        "# Measures",
        NOTE.format("the measures themselves"),
        "`--measures` takes these names, with commas between them. Any number above 0 may stand for the 3 of `f3`,\n"
        "`pyramid_f3` and `macro_f3`; it is the β of F. [Measures](../understanding/measures.md) explains the choices\n"
        "behind them. Only `rubric` and `strict_rubric` count [forbidden](../guides/rubrics.md) nuggets; all others\n"
        "leave them out, as if the key did not have them.",
    ]
    for measure in ALL:
        rows = [("formula", measure.formula), ("edge cases", measure.edge_cases), ("source", measure.citation)]
        table = [f"| {measure.title} | |", "|---|---|", *(f"| {key} | {cell(text)} |" for key, text in rows)]
        page += [f"## `{measure.name}`", "\n".join(table)]
    return "\n\n".join(page) + "\n"


def llms() -> str:
    """The list of pages in docs/index.md, in the form of llmstxt.org."""
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    return re.sub(r"\]\((?!\w+://)(\.\./)?", lambda up: "](" if up[1] else "](docs/", index)


def cell(text: str | None) -> str:
    return " ".join((text or "").replace("%%", "%").split()).replace("|", "\\|")


def unindented(text: str) -> str:
    return "\n".join(line.removeprefix("  ") for line in text.splitlines())


# JSON Schemas, and the tables that say the same.

SCHEMAS = Path(nuggeteer.__file__).parent / "schemas"
KEPT = "Keys that are not listed here are kept. An optional key may be null, which means that it is not there."
Schema = dict[str, Any]


def schema(name: str, title: str, description: str, body: Mapping[str, Any]) -> str:
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    head |= {"$id": f"https://nuggeteer.invalid/schemas/{name}.json", "title": title, "description": description}
    return json.dumps({**head, **body}, indent=2, ensure_ascii=False) + "\n"


# The files of records, what a line of each is, and its layout.
RECORDS: dict[str, tuple[str, str, Layout[Any]]] = {
    "questions": ("questions.jsonl", "One question.", canonical.QUESTIONS),
    "nuggets": ("nuggets.jsonl", "One fact that belongs in the answer, or a group of them.", canonical.NUGGETS),
    "manifest": ("runs.jsonl", "What is known of one run.", canonical.MANIFEST),
    "responses": (
        "runs/NAME.jsonl",
        "One response. The responses to a question stand in rank order.",
        canonical.RESPONSES,
    ),
}


def line(name: str) -> str:
    """The schema of a line."""
    file, description, layout = RECORDS[name]
    return schema(name, f"A line of {file}", f"{description} {KEPT}", {"type": "object", **line_body(layout)})


def line_body(layout: Layout[Any]) -> Schema:
    properties = {key: nullable(value(kind), key in layout.required) for key, kind in layout.declared.items()}
    return {"properties": properties, "required": list(layout.required), **layout.rules}


def value(kind: Any) -> Schema:
    """The schema of a field's values that are not null."""
    kind = without_null(kind)
    found = msgspec.json.schema(kind)
    for meta in getattr(kind, "__metadata__", ()):
        found |= meta.extra_json_schema or {}
    return found


def without_null(kind: Any) -> Any:
    if get_origin(kind) is Annotated:
        return Annotated[(without_null(kind.__origin__), *kind.__metadata__)]
    if get_origin(kind) in (Union, UnionType):
        return Union[tuple(part for part in get_args(kind) if part is not NoneType)]  # noqa: UP007
    return kind


def nullable(found: Schema, required: bool) -> Schema:
    if required:
        return found
    if "enum" in found:
        return {**found, "enum": [*found["enum"], None]}
    kinds = found.get("type", [])
    return {**found, "type": [*([kinds] if isinstance(kinds, str) else kinds), "null"]} if kinds else found


def judgements() -> str:
    body = {"if": {"required": ["retracted"]}}
    for word, name in (("then", "retraction"), ("else", "verdict")):
        body[word] = {"$ref": f"#/$defs/{name}"}
    layouts = {"verdict": canonical.JUDGEMENTS, "retraction": canonical.RETRACTIONS}
    body["$defs"] = {name: {"type": "object", **line_body(layout)} for name, layout in layouts.items()}
    what = f"A verdict, or a retraction of what one assessor said before. {KEPT}"
    return schema("judgements", "A line of judgements/*.jsonl", what, {"type": "object", **body})


def settings() -> str:
    sections = {name: section(kind) for name, kind in SECTIONS.items()}
    judge = {**section(JudgeSettings), "required": ["url", "model"]}
    for key in ("name", "url", "model"):
        judge["properties"][key].pop("default")
    del judge["properties"]["name"]
    named = {"type": "object", "description": "Language models for `nuggeteer ask`, by their names."}
    sections["judge"] = {**named, "additionalProperties": judge}
    what = (
        "The settings of a collection, as a TOML reader returns them. Unknown keys are errors, because a misspelt one "
    )
    what += "would change scores silently."
    body = {"type": "object", "additionalProperties": False, "properties": sections}
    return schema("settings", "nuggeteer.toml", what, body)


def section(kind: type) -> Schema:
    hints, defaults = get_type_hints(kind, include_extras=True), asdict(kind())
    properties = {key: {**value(hints[key]), "default": default} for key, default in defaults.items()}
    return {"type": "object", "additionalProperties": False, "properties": properties}


def toml() -> str:
    """All settings with their defaults, as the file has them."""
    page = ["```toml"]
    for name, kind in {**SECTIONS, "judge.example": JudgeSettings}.items():
        page += ["", f"[{name}]"] if len(page) > 1 else [f"[{name}]"]
        for key, found in section(kind)["properties"].items():
            if key == "name":
                continue
            examples, default = found.get("examples", []), found["default"]
            if examples and not default:
                default = examples[0]
            allowed = [*examples, *found.get("enum", ())] if key != "language" else []
            others = ", ".join(json.dumps(one) for one in allowed if one != default)
            page += textwrap.wrap(found["description"], 118, initial_indent="# ", subsequent_indent="# ")
            if len(others) > 80:
                page += textwrap.wrap(f"Also {others}.", 118, initial_indent="# ", subsequent_indent="# ")
            page.append(f"{key} = {json.dumps(default)}" + (f"  # or {others}" if 0 < len(others) <= 80 else ""))
    return "\n".join([*page, "```"])


FILES = {
    "questions.jsonl": canonical.QUESTIONS,
    "nuggets.jsonl": canonical.NUGGETS,
    "runs.jsonl": canonical.MANIFEST,
    "runs/NAME.jsonl": canonical.RESPONSES,
    "judgements/*.jsonl": canonical.JUDGEMENTS,
    "a retraction there": canonical.RETRACTIONS,
}


def files() -> str:
    """The page on files, with the tables of what the records declare."""
    path = DOCS / "reference" / "files.md"
    keys = [["file", "keys"]]
    meaning: dict[tuple[str, str], list[str]] = {}
    for file, layout in FILES.items():
        marks = [f"`{key}`" + ("" if key in layout.required else "?") for key in layout.declared]
        keys.append([f"`{file}`" if "." in file else file, ", ".join(marks)])
        for key, kind in layout.declared.items():
            found = nullable(value(kind), True)
            allowed = f"{' or '.join(f'`{one}`' for one in found['enum'])}. " if "enum" in found else ""
            meaning.setdefault((key, allowed + found.get("description", "")), []).append(keys[-1][0])
    rows = [[f"`{key}`", ", ".join(of), what] for (key, what), of in meaning.items()]
    return with_tables(
        path, {"records": table(keys), "keys": table([["key", "of", "meaning"], *rows]), "settings": toml()}
    )


def table(rows: list[list[str]]) -> str:
    head, *body = rows
    return "\n".join(f"| {' | '.join(map(cell, row))} |" for row in [head, ["---"] * len(head), *body]).replace(
        " --- ", "---"
    )


EXPERIMENTS = DOCS.parent / "experiments"
LANGUAGES = DOCS / "guides" / "languages.md"
MODEL, MATCHING, THRESHOLDS, CHANGES, AUDITS = (
    DOCS / "understanding" / f"{name}.md" for name in ("model", "matching", "thresholds", "changes", "audits")
)
EFFECTS = {
    "a": ("nugget", "how readily the nugget is found in any answer"),
    "c": ("question", "how much is found in all answers to the question"),
    "v": ("system", "how good the system is beyond its words"),
    "w": ("build", "how the build departs from its system"),
    "u": ("answer", "how the answer departs from its build"),
}
CLUES = {
    "one": "1: the level of an answer that is usual otherwise",
    "window": "match score: the share of the description that stands together in the best response",
    "order": "the share of the description's neighbouring words that the response has in this order",
    "density": "the weight of the description's words for each word of the response",
    "asked": "the share of the description that the question itself has",
    "names": "the share of the description that is names, and that the response lacks",
    "numbers": "1 if the response lacks a number of the description",
    "root": "the square root of the match score",
    "score": "the match score",
    "responses": "the logarithm of how many responses the answer has",
    "size": "the logarithm of the response's length",
    "hint": "what verdicts on similar texts carry over, up to 0.2 either way",
    "carried": "what they carry over beyond that",
    "says yes": "a judge's yes is 1, partly 0, a no −1",
    "read it": "1 if a judge read it; `one` is 0 then",
}


def model() -> str:
    """The page on the model, with the tables of what is believed before any verdict."""
    effects = ["| effect | of each | means | σ at first |", "|---|---|---|---|"]
    for (sign, (name, meaning)), spread in zip(EFFECTS.items(), SPREADS, strict=True):
        effects.append(f"| {sign} | {name} | {meaning} | {spread:.2f} |")
    clues = ["| clue | what it says | weight by `learned` | by other matchers |", "|---|---|---|---|"]
    carried_by_others = dict.fromkeys(("hint", "carried"), (LOG_ODDS[0], LOG_ODDS[1] * DOUBT**0.5))
    judges = {"says yes": JUDGE["weight"], "read it": JUDGE["level"]}
    columns = BY_WORDS | judges, BY_SCORE | carried_by_others | judges
    for name, meaning in CLUES.items():
        clues.append(f"| `{name}` | {meaning} | {' | '.join(weight(own.get(name)) for own in columns)} |")
    change = ["| | γ | σ | V |", "|---|---|---|---|"]
    for title, of in (("by words", "words"), ("by judges, where they read both answers", "judges")):
        factor, doubt, spread, moved = CHANGE[of]
        change.append(f"| {title} | {factor:.2f} ± {doubt:.2f} | {spread:.2f} | {moved:.2f} |")
    tables = {"effects": effects, "clues": clues, "change": change, "coverage": recorded("coverage.md", "| collection")}
    return with_tables(MODEL, {name: "\n".join(table) for name, table in tables.items()})


SHOWN = ("30", "100", "300")  # nuggets that an audit judged, of those in the record


def audits() -> str:
    """The page on audits, with how often they hold the truth: of F(3) on REALSumm, and the least of all."""
    lines = (EXPERIMENTS / "audit.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    held = [row for row in rows if row[1].isdigit()]
    section = lines.index(next(line for line in lines if line.startswith("### f3")))
    f3 = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[section:]]
    of_realsumm = f3[: next(i for i, row in enumerate(f3) if row[0].startswith("## "))]
    table = [
        "| guesses | judged | audit holds | width | by answers | width | t holds | width | model holds | width |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *(f"| {' | '.join([*row[:8], *row[10:]])} |" for row in of_realsumm if len(row) > 1 and row[1] in SHOWN),
    ]
    least = [min(float(row[place].rstrip("%")) for row in held) for place in (2, 4, 6)]
    said = (
        f"Of the {len(held)} lines of the record, which are of recall and F(3) on REALSumm and TREC TS 2014, the audit "
        f"holds the truth in at least {least[0]:.1f}%, the audit by answers in {least[1]:.1f}%, and t in "
        f"{least[2]:.1f}%."
    )
    return with_tables(AUDITS, {"held": "\n".join([*table, "", *textwrap.wrap(said, 120)])})


def thresholds() -> str:
    """The page on threshold models, with the recorded comparison."""
    lines = (EXPERIMENTS / "models.md").read_text(encoding="utf-8").splitlines()
    found: dict[str, list[str]] = {}
    names = [line[3:].partition(":")[0] for line in lines if line.startswith("## ")]
    for line in lines:
        cells = [cell.strip().replace("-", "−") for cell in line.strip("|").split("|")]
        if line.startswith("| ") and cells[0] != "model":
            found.setdefault(line.split("|")[1].strip(), []).extend(cells[1:3])
    table = ["| model | " + " | ".join(f"{name}: evidence | held-out" for name in names) + " |"]
    table.append("|---|" + "---|---|" * len(names))
    table += [f"| `{model}` | {' | '.join(cells)} |" for model, cells in found.items()]
    return with_tables(THRESHOLDS, {"models": "\n".join(table)})


def changes() -> str:
    """The page on changes, with what was recorded of strange nights."""
    (line,) = recorded("strange.md", "Of ")
    said = f"{line} They are nights of public\ncollections ([strange.md](../../experiments/strange.md))."
    return with_tables(CHANGES, {"strange": said})


IDF = {
    "`wordfreq`": "n=2,stem=no,weights=idf,stopwords=keep wordfreq",
    "`pool`": "n=2,stem=no,weights=idf,stopwords=keep pool",
    "none (unit weights)": "n=2,stem=no,weights=unit,stopwords=keep",
    "`wordfreq`, unigrams alone": "n=1,stem=no,weights=idf,stopwords=keep wordfreq",
}


def matching() -> str:
    """The page on matching, with the recorded average precision over answers."""
    sections = (EXPERIMENTS / "match-settings.md").read_text(encoding="utf-8").split("\n## ")[1:]
    names = [section.partition("\n")[0] for section in sections]
    table = [f"| idf | {' | '.join(names)} |", "|---|" + "---|" * len(names)]
    for title, settings in IDF.items():
        values = (re.search(rf"^\| {re.escape(settings)} \| (.*) \|$", part, re.MULTILINE) for part in sections)
        precision = (found[1].split(" | ")[2] if found else "–" for found in values)
        table.append(f"| {title} | {' | '.join(precision)} |")
    return with_tables(MATCHING, {"idf": "\n".join(table)})


def languages() -> str:
    """The guide to languages, with the recorded probabilities of near-copies."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in recorded("languages.md", "| language")]
    found: dict[str, dict[str, list[str]]] = {}
    for language, settings, *numbers in rows[2:]:
        found.setdefault(language, {})[settings] = numbers
    table = ["| mean probability of a near-copy | without `language` | with it | others |", "|---|--:|--:|--:|"]
    for language, by in found.items():
        own = by.get("default", by["as English"])
        table.append(f"| {language} | {by['as English'][0]} | {own[0]} | {own[3]} |")
    return with_tables(LANGUAGES, {"languages": "\n".join(table)})


def recorded(name: str, first: str) -> list[str]:
    """The lines of a record of an experiment from that which begins so to the next empty one."""
    lines = (EXPERIMENTS / name).read_text(encoding="utf-8").splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith(first))
    return lines[begin : (*lines, "").index("", begin)]


def with_tables(path: Path, tables: Mapping[str, str]) -> str:
    page = path.read_text(encoding="utf-8")
    for name, table in tables.items():
        page = in_place(page, name, table)
    return page


def weight(believed: tuple[float, float] | None) -> str:
    return "–" if believed is None else f"{believed[0]:.2f} ± {believed[1]:.2f}".replace("-", "−")


def in_place(page: str, name: str, text: str) -> str:
    """The page with the part between two comments written anew."""
    begin, end = f"<!-- {name}: written by docs/generate.py -->", f"<!-- end of {name} -->"
    before, rest = page.split(begin)
    return f"{before}{begin}\n\n{text}\n\n{end}{rest.split(end)[1]}"


INK, PAPER, LINE, FILL, KNOWN = "#1f2430", "#ffffff", "#7a8296", "#eef2fa", "#dcecdc"


def picture() -> str:
    """The model as a picture: what is seen, what is unknown and nested, and what follows."""
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 470" role="img" font-family="sans-serif" '
        f'font-size="14" fill="{INK}">',
        "<title>The model: clues and nested effects make the log odds that an answer has a nugget</title>",
        f'<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0 8 4 0 8Z" fill="{LINE}"/></marker></defs>',
        f'<rect width="860" height="470" fill="{PAPER}"/>',
        label(130, 30, "What is seen of an answer", bold=True),
        *(
            box(20, 46 + 58 * i, 220, 46, *text, KNOWN)
            for i, text in enumerate(
                (
                    ("words of the best response", "match score, order, names, numbers"),
                    ("verdicts on similar texts", "carried over"),
                    ("judges' opinions", "yes, partly, no"),
                )
            )
        ),
        label(580, 30, "What nobody sees: effects, each normal around 0", bold=True),
        box(320, 46, 250, 162, "", "", FILL),
        label(445, 66, "question   c"),
        box(345, 84, 200, 104, "", "", PAPER),
        label(445, 140, "nugget   a"),
        box(590, 46, 250, 162, "", "", FILL),
        label(715, 66, "system   v"),
        box(608, 78, 214, 118, "", "", PAPER),
        label(715, 98, "build   w"),
        box(626, 110, 178, 74, "", "", FILL),
        label(715, 152, "answer   u"),
        arrow(130, 208, 330, 254, "weights b"),
        arrow(445, 208, 435, 252),
        arrow(715, 208, 545, 254),
        box(280, 254, 310, 50, "log odds   b · x + a + c + v + w + u", "of “this answer has this nugget”", PAPER),
        arrow(435, 304, 435, 330),
        box(280, 332, 310, 46, "yes or no", "people's verdicts know some of them", KNOWN),
        box(20, 332, 200, 46, "public collections", "beliefs about b and all σ", FILL),
        arrow(120, 332, 292, 300),
        arrow(590, 355, 640, 355),
        box(642, 332, 198, 46, "posterior", "of everything, in joint draws", FILL),
        arrow(741, 378, 741, 408),
        box(280, 410, 560, 46, "score   ·   change   ·   gained and lost   ·   what to read next", "", PAPER),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def box(x: int, y: int, width: int, height: int, text: str, below: str, fill: str) -> str:
    found = [f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="7" fill="{fill}" stroke="{LINE}"/>']
    middle = y + height // 2
    if text:
        found.append(label(x + width // 2, middle - 4 if below else middle + 5, text))
    if below:
        found.append(label(x + width // 2, middle + 14, below, small=True))
    return "\n".join(found)


def label(x: int, y: int, text: str, bold: bool = False, small: bool = False) -> str:
    style = (' font-weight="bold"' if bold else "") + (' font-size="12"' if small else "")
    return f'<text x="{x}" y="{y}" text-anchor="middle" xml:space="preserve"{style}>{text}</text>'


def arrow(x: int, y: int, to_x: int, to_y: int, text: str = "") -> str:
    line = f'<path d="M{x} {y} {to_x} {to_y}" stroke="{LINE}" fill="none" marker-end="url(#tip)"/>'
    return f"{line}\n{label((x + to_x) // 2 - 46, (y + to_y) // 2 + 12, text, small=True)}" if text else line


# What --json prints: the schema by its name, the command and its options, and the parts, of which it is one.
RESULTS: dict[str, tuple[str, tuple[type[Part], ...]]] = {
    "score": ("score", (scores.ScoreOutput,)),
    "diff": ("diff", (diff.DiffOutput,)),
    "nightly": ("nightly", (nightly.NightlyOutput,)),
    "compare": ("compare", (comparison.CompareOutput,)),
    "history": ("history", (history.HistoryOutput, nugget_history.NuggetHistoryOutput)),
    "report": ("report", (briefing.BriefingOutput,)),
    "report-site": ("report --site", (site.SiteOutput,)),
    "thresholds": ("thresholds", (Thresholds,)),
    "thresholds-model": ("thresholds --model", (Parameters,)),
    "crossval": ("crossval", (crossval.CrossvalOutput,)),
    "experiment": ("experiment", (experiment.ExperimentOutput,)),
    "experiment-mean": ("experiment --collection A --collection B", (experiment.AveragedOutput,)),
    "experiment-list": ("experiment --list", (experiment.ExperimentsOutput,)),
    "judge-list": ("judge --list", (suggestions.SuggestionsOutput,)),
    "judge-plan": ("judge --plan", (reading_plan.ReadingPlanOutput,)),
    "judge-page": ("judge --page", (sheet.SheetOutput,)),
    "judge-log": ("judge --log", (log.LogOutput,)),
    "judge-import": ("judge --import", (foreign_files.ImportOutput,)),
    "ask": ("ask", (asked.AskOutput,)),
    "ask-dry-run": ("ask --dry-run", (asked.EstimateOutput,)),
    "ask-propose": ("ask --propose", (asked.ProposalsOutput,)),
    "plan": ("plan", (plan.PlanOutput,)),
    "check": ("check", (problems.CheckOutput,)),
    "convert": ("convert", (foreign_files.ConvertOutput,)),
    "convert-out": ("convert --out", (foreign_files.WrittenFile,)),
    "doctor": ("doctor", (foreign_files.DoctorOutput,)),
    "distill": ("distill", (distillation.DistillOutput, distillation.NugProposalOutput)),
    "nuggetize": ("nuggetize", (automatic_nuggets.NuggetizeOutput,)),
    "nuggetize-score": ("nuggetize --score", (automatic_scores.AutomaticScoresOutput,)),
    "nuggetize-corrected": ("nuggetize --corrected", (automatic_nuggets.CorrectionsOutput,)),
    "nuggetize-propose": ("nuggetize --propose", (automatic_nuggets.CandidatesOutput,)),
    "agree": ("agree", (assessors.AgreeOutput,)),
    "agree-annotations": ("agree FILE FILE", (annotators.AnnotationsOutput,)),
}
MEASURE = r"^((pyramid_|macro_|pourpre_)?f[0-9]+(\.[0-9]+)?|recall|precision|rouge[12L]"
MEASURE += "|(strict_)?((vital_|weighted_|all_)?score|rubric))$"


def result(name: str) -> str:
    """The schema of what a command prints."""
    command, parts = RESULTS[name]
    ways, defs = msgspec.json.schema_components(parts, ref_template="#/$defs/{name}")
    for part in every_part():
        if part.__name__ in defs:
            defs[part.__name__] = as_printed(part, defs[part.__name__])
    about = " Or: ".join(" ".join((part.__doc__ or "").split()) for part in parts)
    found: Schema = {"type": "object", "anyOf": list(ways)}
    if len(parts) == 1:
        found = {
            key: value for key, value in defs.pop(parts[0].__name__).items() if key not in ("title", "description")
        }
    return schema(name, f"nuggeteer {command} --json", about, {**found, "$defs": defs})


def every_part(base: type[Part] = Part) -> Iterator[type[Part]]:
    for part in base.__subclasses__():
        yield part
        yield from every_part(part)


def as_printed(part: type[Part], found: Schema) -> Schema:
    """The schema of a part with all keys that are always there, also those that need not be given to make one; and in
    which keys of a field stand beside the others."""
    found["required"] = [key.encode_name for key in structs.fields(part) if key.default is not UNSET]
    for key in found["properties"].values():
        key.pop("default", None)
    for name, key in spread_fields(part).items():
        values = found["properties"].pop(name).get("additionalProperties", True)
        found["required"].remove(name)
        found |= {"patternProperties": {MEASURE: values}} if key == "MEASURE" else {"additionalProperties": values}
    return found


def json_page() -> str:
    """The page on JSON, with the keys of each result and the list of schemas."""
    tables = {f"{command} --json": keys_of(*parts) for command, parts in RESULTS.values()}
    return with_tables(DOCS / "reference" / "json.md", {**tables, "schemas": schema_list()})


def schema_list() -> str:
    rows = [["schema", "of"], *([f"`{name}`", f"a line of `{file}`"] for name, (file, _, _) in RECORDS.items())]
    rows += [["`judgements`", "a line of `judgements/*.jsonl`"]]
    rows += [["`settings`", "`nuggeteer.toml`, as a TOML reader returns it"]]
    own = [name for name, (command, _) in RESULTS.items() if name == command]
    rows += [[", ".join(f"`{name}`" for name in own), "the output of that command"]]
    rows += [[f"`{name}`", f"the output of `{RESULTS[name][0]}`"] for name in RESULTS if name not in own]
    return table(rows)


def keys_of(*parts: type[Part]) -> str:
    """All keys of a result. A part that occurs again is told of once."""
    rows, told = [["in", "key", "value", "meaning"]], {}
    ahead: list[tuple[str, type[Part]]] = [("", part) for part in parts]
    while ahead:
        place, part = ahead.pop(0)
        told[part] = place
        hints, spread = hints_of(part), spread_fields(part)
        for name, key in zip(part.__struct_fields__, part.__struct_encode_fields__, strict=True):
            key = spread.get(name, key)
            words, inner, tail = shape(get_args(hints[name].__origin__)[1] if name in spread else hints[name])
            if inner is not None:
                below = f"{place}.{key}{tail}".removeprefix(".")
                if inner in told:
                    words += f", as `{told[inner]}`"
                else:
                    told[inner] = below
                    ahead.append((below, inner))
            optional = "?" if UnsetType in get_args(hints[name]) else ""
            rows.append([f"`{place}`" if place else "", f"`{key}`{optional}", words, meaning(hints[name])])
    return table(rows)


def shape(kind: Any) -> tuple[str, type[Part] | None, str]:
    """A type in words, the part in it, and how one comes to that: `[]` in a list, `.NAME` in an object."""
    if get_origin(kind) is Annotated:
        return shape(kind.__origin__)
    if get_origin(kind) in (Union, UnionType):
        ways = [shape(one) for one in get_args(kind) if one not in (UnsetType, NoneType)]
        null = " or null" if NoneType in get_args(kind) else ""
        return " or ".join(way[0] for way in ways) + null, ways[0][1], ways[0][2]
    if get_origin(kind) in (Sequence, tuple):
        words, part, tail = shape(get_args(kind)[0])
        return f"list: {words}", part, f"[]{tail}"
    if get_origin(kind) is Mapping:
        words, part, tail = shape(get_args(kind)[1])
        return ("object", None, "") if words == "anything" else (f"by name: {words}", part, f".NAME{tail}")
    if get_origin(kind) is Literal:
        return " or ".join(f"`{one}`" for one in get_args(kind)), None, ""
    if isinstance(kind, type) and issubclass(kind, Part):
        return "object", kind, ""
    return {str: "text", int: "whole number", float: "number", bool: "true or false", Any: "anything"}[kind], None, ""


def meaning(kind: Any) -> str:
    """The description of a type, or that of the part that it is."""
    if get_origin(kind) is Annotated:
        said = [meta.description for meta in kind.__metadata__ if meta.description]
        return said[-1] if said else meaning(kind.__origin__)
    if get_origin(kind) in (Union, UnionType, Sequence, tuple):
        return next((said for one in get_args(kind) if (said := meaning(one))), "")
    return " ".join((kind.__doc__ or "").split()) if isinstance(kind, type) and issubclass(kind, Part) else ""


PAGES: dict[Path, Callable[[], str]] = {
    **{SCHEMAS / f"{name}.json": partial(result, name) for name in RESULTS},
    DOCS / "reference" / "json.md": json_page,
    **{SCHEMAS / f"{name}.json": partial(line, name) for name in RECORDS},
    SCHEMAS / "judgements.json": judgements,
    SCHEMAS / "settings.json": settings,
    DOCS / "reference" / "files.md": files,
    DOCS / "reference" / "commands.md": commands,
    DOCS / "reference" / "measures.md": measures,
    DOCS.parent / "llms.txt": llms,
    MODEL: model,
    AUDITS: audits,
    MATCHING: matching,
    THRESHOLDS: thresholds,
    CHANGES: changes,
    LANGUAGES: languages,
    DOCS / "images" / "model.svg": picture,
}


if __name__ == "__main__":
    for path, text in PAGES.items():
        path.write_text(text(), encoding="utf-8")
