"""Which types of nuggets answer a query: the table of Babko-Malaya et al. 2010, and the user's own tables.

A query follows a template, with its arguments in brackets: WHERE HAS [Jack Straw] BEEN AND WHEN? The user already knows
the arguments, so a name among them does not answer the query.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

from nuggeteer.errors import NuggeteerError, fail
from nuggeteer.text import words

Type = Literal["PER", "GPE", "ORG", "TITLE", "NUM", "EVT", "TMP", "LOC", "MOD", "STM"]
TYPES: tuple[Type, ...] = get_args(Type)
_ARGUMENT = re.compile(r"\[[^\[\]]*\]")
_KEYS = {"name", "query", "also", "types", "once"}


@dataclass(frozen=True, slots=True)
class Template:
    """The types that count, the types of which a snippet counts only one nugget, and the query's arguments."""

    name: str
    queries: tuple[str, ...]
    types: frozenset[Type]
    once: frozenset[Type] = frozenset()
    arguments: tuple[str, ...] = ()

    def known(self, name: str) -> bool:
        """Whether an argument of the query contains this name or a part of it, such as the last name."""
        own = set(words(name))
        return any(own <= set(words(argument)) for argument in self.arguments)


ANY = Template("any", (), frozenset(TYPES))


def read_templates(path: Path | None = None) -> dict[str, Template]:
    """The paper's templates by name, and those of a file, which replace the paper's templates of the same name."""
    own = {} if path is None else {template.name: template for template in _parse(_load(path), path)}
    text = files("nuggeteer.gale").joinpath("templates.toml").read_text(encoding="utf-8")
    papers = {template.name: template for template in _parse(tomllib.loads(text), Path("templates.toml"))}
    return {**own, **{name: template for name, template in papers.items() if name not in own}}


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise fail(path, f"cannot be read: {error.strerror}", "check the name and the permissions") from error
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, not UTF-8, and numbers or lists that are too long
        raise fail(path, f"not TOML: {error}", "correct the file; docs/guides/gale.md has an example") from error


def _parse(data: dict[str, Any], path: Path) -> Iterable[Template]:
    listed = data.get("template")
    if not isinstance(listed, list) or set(data) != {"template"}:
        raise fail(path, "no list of templates", "begin each template with [[template]], and write no other table")
    seen: set[str] = set()
    for table in listed:
        name = table.get("name") if isinstance(table, dict) else None
        if not isinstance(name, str) or not name.strip():
            raise fail(path, "a template without a name", 'write name = "..."')
        wrong = _wrong(table) or ("the name occurs twice" if name in seen else None)
        if wrong:
            raise fail(path, f"template {name!r}: {wrong}", "docs/guides/gale.md has an example")
        seen.add(name)
        queries = (table["query"], *table.get("also", ()))
        yield Template(name, queries, frozenset(table["types"]), frozenset(table.get("once", ())))


def _wrong(table: dict[str, Any]) -> str | None:
    if unknown := sorted(set(table) - _KEYS):
        return f"unknown key {unknown[0]!r}"
    if not isinstance(table.get("query"), str):
        return "no query"
    if not _are_strings(table.get("also", [])):
        return "'also' is not a list of queries"
    for key in ("types", "once"):
        value = table.get(key, [] if key == "once" else None)
        if not _are_strings(value) or not set(TYPES).issuperset(value or ()):
            return f"{key!r} is not a list of types ({', '.join(TYPES)})"
    return None


def _are_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def find_template(query: str, templates: Mapping[str, Template]) -> Template:
    """The template with this name, or the template that this query follows, with the query's arguments."""
    if query in templates:
        return templates[query]
    if (template := follow(query, templates)) is not None:
        return template
    known = ", ".join(templates)
    raise NuggeteerError(f"{query}: neither a template's name nor a query that follows one; the templates are: {known}")


def follow(query: str, templates: Mapping[str, Template]) -> Template | None:
    """The template that a query follows, with the query's arguments; None if it follows none."""
    form = _form(query)
    for template in templates.values():
        if any(_form(wording) == form for wording in template.queries):
            return replace(template, arguments=tuple(part[1:-1].strip() for part in _ARGUMENT.findall(query)))
    return None


def _form(query: str) -> tuple[str, ...]:
    """A query's words, with [] for each argument."""
    first, *rest = map(words, _ARGUMENT.split(query))
    return (*first, *(word for part in rest for word in ("[]", *part)))
