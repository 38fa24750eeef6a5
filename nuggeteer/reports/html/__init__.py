"""One build on an HTML page: a single file that fetches nothing from the network.

Texts, names and ids come from files that anybody may have written. Three defences protect the reader's browser: every
value is made visible and escaped where it is put in (Jinja's autoescape), the script inserts texts only as text, and
the page's policy allows only our script and our style, and fetches nothing.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson
from markupsafe import Markup

from nuggeteer.formats.jsonl import write_file
from nuggeteer.history.briefing import Briefing
from nuggeteer.reports import charts
from nuggeteer.reports.html.evidence import Evidence
from nuggeteer.reports.html.sections import Changes, Guesses, Headline, JudgeNext, Questions, TrendSection
from nuggeteer.text import escaped


@dataclass(frozen=True)
class Place:
    """Where a page is in a folder of pages: the file that lists them, and the page of the build before with its
    title."""

    index: str
    before: tuple[str, str] | None = None


def write(path: Path, briefing: Briefing, place: Place | None = None) -> None:
    """The page as a file, whole or not at all."""
    write_file(path, page(briefing, place).encode())
    briefing.remember()


def page(briefing: Briefing, place: Place | None = None) -> str:
    """The page."""
    evidence = Evidence(briefing)
    return render(
        "page.html",
        "style.css",
        "script.js",
        briefing=briefing,
        place=place,
        headline=Headline(briefing),
        trend=TrendSection(briefing.trend, briefing.timelines) if briefing.trend and briefing.timelines else None,
        changes=Changes(briefing.diff) if briefing.diff else None,
        questions=Questions(briefing),
        evidence=evidence,
        judge_next=JudgeNext(briefing),
        guesses=Guesses(briefing.trust) if briefing.trust else None,
        data=in_script(evidence.data),
        drawn={name: Markup(svg) for name, svg in _draw_charts(briefing).items()},
    )


def part(name: str) -> str:
    """A file of this folder: a template, a style or a script."""
    return (files(__name__) / name).read_text(encoding="utf-8")


def render(template: str, style: str, script: str = "", **values: Any) -> str:
    """A template of this folder filled with values, with its style and its script, if it has one. Everything that is
    not `Markup` is escaped."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    styles, scripts = part("theme.css") + part(style), part(script) if script else None
    values |= {"style": Markup(styles), "script": Markup(scripts or ""), "policy": policy(styles, scripts)}

    def harmless(value: Any) -> Any:
        return escaped(value) if type(value) is str else value

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        loader=FunctionLoader(part),
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=harmless,
    )
    return environment.get_template(template).render(**values)


def _draw_charts(briefing: Briefing) -> dict[str, str]:
    drawn = {"parts": charts.parts(briefing.score.measures[briefing.headline.name]) or ""}
    if briefing.trust and briefing.trust.reliability:
        drawn["reliability"] = charts.reliability(briefing.trust.reliability)
    return drawn


def policy(style: str, script: str | None = None) -> str:
    """What a browser may do for the page: apply this style, run this script if there is one, and nothing else."""
    scripts = "'none'" if script is None else f"'{_hash(script)}'"
    return (
        "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
        f"style-src '{_hash(style)}'; script-src {scripts}"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def in_script(data: Any) -> Markup:
    """JSON that can stand in a script element: nothing in it can end that."""
    text = orjson.dumps(data).decode()
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))
