"""Prompts: templates with a checked set of fields, and how an answer is put into one.

A template is a text. The part before a line `---` is the system's message, the rest is the user's. Its fields:

    {question}  the question
    {nuggets}   the nuggets, numbered from 1
    {answer}    the answer between two markers
    {boundary}  the code in these markers
    {reply}     which JSON to reply with

`{nuggets}`, `{answer}` and `{reply}` must each occur once. Other braces stay as they are. Our own templates have a
version in their names, and a template of a user has a hash of its content, so a changed template is another prompt.

An answer is hostile text. It stands between markers with a random code, new for each call, so it cannot close them. A
model may still believe what it says inside (SECURITY.md).
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from nuggeteer.errors import InputError, Problem, fail
from nuggeteer.formats.jsonl import is_regular
from nuggeteer.text import one_line

LONGEST_TEMPLATE = 100_000  # characters
OWN = ("assign-1",)
_NEEDED = ("nuggets", "answer", "reply")
_FIELDS = ("question", "boundary", *_NEEDED)
_field = re.compile(r"\{([a-z_]+)\}")
_rule = re.compile(r"^---[ \t]*\n", re.MULTILINE)


@dataclass(frozen=True)
class Prompt:
    """A template with the name of its version."""

    name: str
    system: str
    user: str

    def messages(self, question: str, answer: str, nuggets: Sequence[str], reply: str) -> list[dict[str, str]]:
        """The messages of one call."""
        boundary = make_boundary(answer)
        values = {
            "question": one_line(question),
            "nuggets": "\n".join(f"{number}. {one_line(nugget)}" for number, nugget in enumerate(nuggets, 1)) or "none",
            "answer": f"[begin {boundary}]\n{answer}\n[end {boundary}]",
            "boundary": boundary,
            "reply": reply,
        }
        parts = (("system", self.system), ("user", self.user))
        return [{"role": role, "content": _filled(text, values)} for role, text in parts if text]


def find_prompt(name: str) -> Prompt:
    """One of our prompts by its name, or the template in a file `*.txt`."""
    if name.endswith(".txt"):
        return _read(Path(name))
    if name not in OWN:
        remedy = f"write {' or '.join(map(repr, OWN))}, or the path of a template: *.txt"
        raise fail("nuggeteer.toml", f"no prompt is called {name!r:.80}", remedy)
    return own_prompt(name)


def own_prompt(name: str) -> Prompt:
    """A template of the package."""
    text = files("nuggeteer.asking").joinpath("templates", f"{name}.txt").read_text(encoding="utf-8")
    return _prompt(name, text)


def make_boundary(answer: str) -> str:
    """A code that nobody can guess and that is not in the answer."""
    while (boundary := secrets.token_hex(8)) in answer:
        pass
    return boundary


def _read(path: Path) -> Prompt:
    problems: list[Problem] = []
    if not is_regular(path, problems):
        raise InputError(problems)
    try:
        if path.stat().st_size > 4 * LONGEST_TEMPLATE:  # UTF-8 has at most four bytes for a character
            raise fail(path, f"has more than {LONGEST_TEMPLATE:,} characters", "shorten the template")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        what = f"cannot be read: {getattr(error, 'strerror', 'it is not UTF-8')}"
        raise fail(path, what, "[judge.NAME] prompt names a template in UTF-8") from error
    if len(text) > LONGEST_TEMPLATE:
        raise fail(path, f"has more than {LONGEST_TEMPLATE:,} characters", "shorten the template")
    for unknown in sorted({field for field in _field.findall(text) if field not in _FIELDS}):
        known = ", ".join(f"{{{field}}}" for field in _FIELDS)
        raise fail(path, f"unknown field {{{unknown}}}", f"the fields are {known}")
    for field in _NEEDED:
        count = text.count(f"{{{field}}}")
        if count != 1:
            raise fail(path, f"the field {{{field}}} stands in it {count} times", "write it once")
    return _prompt(f"{path.name}@{sha256(text.encode()).hexdigest()[:12]}", text)


def _prompt(name: str, text: str) -> Prompt:
    system, *user = _rule.split(text, maxsplit=1)
    return Prompt(name, system.strip(), user[0].strip()) if user else Prompt(name, "", system.strip())


def _filled(text: str, values: Mapping[str, str]) -> str:
    """The template with its fields filled in at once, so that a value with braces is not filled in again."""
    return _field.sub(lambda field: values[field[1]], text)
