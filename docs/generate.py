"""Writes the pages that are made from the code or from other pages, and llms.txt.

python docs/generate.py
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from nuggeteer.cli.main import COMMANDS, parser
from nuggeteer.measures import ALL

DOCS = Path(__file__).parent
NOTE = "<!-- Written by docs/generate.py from {}; scripts/docs runs it. -->"
TASKS = {
    "Start": ("demo", "doctor", "convert", "check", "simulate"),
    "Every night": ("nightly", "score", "diff", "history", "report"),
    "Judge by hand": ("judge", "agree"),
    "Ask a language model": ("ask", "plan"),
    "Compare, and check the tool itself": ("compare", "thresholds", "crossval", "experiment", "idf"),
    "Text, nuggets and distillers": ("nuggetize", "distill"),
    "For agents": ("mcp",),
}


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
    for task, names in TASKS.items():
        for name in names:
            table.append(f"| {task} | [`{name}`](#{name}) | {cell(summaries[name])} |")
            task = ""
    page += ["\n".join(table), EXIT_CODES]
    for name in COMMANDS:
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
        page.append(f"{title.capitalize()}\n\n```text\n{unindented(lines)}\n```")
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


PAGES = {
    DOCS / "reference" / "commands.md": commands,
    DOCS / "reference" / "measures.md": measures,
    DOCS.parent / "llms.txt": llms,
}


if __name__ == "__main__":
    for path, text in PAGES.items():
        path.write_text(text(), encoding="utf-8")
