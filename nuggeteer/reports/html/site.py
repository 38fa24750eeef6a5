"""A folder of pages: one for each recorded build, and `index.html`, which lists them and draws their trend.

A page is made once and then stays as it is, with what was known then, so a link to it keeps its meaning. It is made
again if the build was scored again. The newest is always made again. `site.json` records the scores of each page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, get_args

import orjson
from rich.console import Console

from nuggeteer.collection.folder import Collection
from nuggeteer.comparing.gate import Decision
from nuggeteer.errors import InputError, NuggeteerError
from nuggeteer.fields import Count, Part, about
from nuggeteer.formats.jsonl import write_file
from nuggeteer.history.briefing import Briefing, brief_builds
from nuggeteer.history.ruling import nightly_measure
from nuggeteer.history.store import History
from nuggeteer.history.trend import Build, Trend, nugget_timelines, trends_if_any
from nuggeteer.reports.change_words import SIGNS
from nuggeteer.reports.formatting import counted
from nuggeteer.reports.history import group_name
from nuggeteer.reports.html import Place, render, write
from nuggeteer.reports.html.sections import TrendSection
from nuggeteer.reports.terminal import say_whole

INDEX, STATE = "index.html", "site.json"
LARGEST = 50_000_000  # bytes of the state


@dataclass(frozen=True)
class Page:
    """How the page of a build was made: from which scores, what was decided (and on guesses only: `title`) and why,
    against which run, and what is decided otherwise today."""

    signature: str
    decision: Decision
    title: str
    reason: str
    against: str
    otherwise: str

    def __post_init__(self) -> None:
        texts = self.signature, self.title, self.reason, self.against, self.otherwise
        if self.decision not in get_args(Decision) or not all(isinstance(text, str) for text in texts):
            raise ValueError("not the state of a page")

    @property
    def sign(self) -> str:
        return SIGNS[self.decision]


class Site:
    """The folder. `made` are the builds whose pages were made this time."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.made = folder, list[int]()
        self.pages = self._read()

    @property
    def index(self) -> Path:
        return self.folder / INDEX

    def _read(self) -> dict[int, Page]:
        """The existing pages. Without a sound state all are made again."""
        path = self.folder / STATE
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
            if path.stat().st_size <= LARGEST:
                pages = {int(build): Page(**page) for build, page in orjson.loads(path.read_bytes())["pages"].items()}
                return {build: page for build, page in pages.items() if (self.folder / file_of(build)).is_file()}
        return {}

    def lacking(self, found: Sequence[Trend]) -> Iterator[int]:
        """The builds whose pages are missing, have other scores or another decision, or are the newest of their
        group."""
        for trend in found:
            for build in trend.builds:
                page = self.pages.get(build.scoring.build)
                stale = page is None or page.signature != build.scoring.signature
                decided = build.ruling.title if build.ruling else None
                if stale or build is trend.builds[-1] or (page and decided not in (None, page.title)):
                    yield build.scoring.build

    def add(self, found: Briefing) -> None:
        """The page of a build."""
        assert found.new.build
        assert found.trend
        build = found.new.build.scoring.build
        write(self.folder / file_of(build), found, Place(INDEX, self._before(found.trend.builds)))
        against, decided = found.old.title if found.old else "", (found.decision, found.title, found.reason)
        self.pages[build] = Page(found.scores.signature, *decided, against, found.otherwise)
        self.made.append(build)
        state = {"pages": {str(build): asdict(page) for build, page in sorted(self.pages.items())}}
        write_file(self.folder / STATE, orjson.dumps(state, option=orjson.OPT_INDENT_2))

    def _before(self, builds: Sequence[Build]) -> tuple[str, str] | None:
        """The page before that of the last of these builds."""
        for build in builds[-2:-1]:
            if build.scoring.build in self.pages:
                return file_of(build.scoring.build), build.title
        return None

    def write_index(self, collection: str, history: History, found: Sequence[Trend]) -> None:
        groups = [
            {
                "name": group_name(trend.group),
                "id": f"group-{i}",
                "section": TrendSection(trend, nugget_timelines(history, trend.builds), None),
            }
            for i, trend in enumerate(reversed(found))
        ]
        pages = {
            build: asdict(page) | {"file": file_of(build), "sign": page.sign} for build, page in self.pages.items()
        }
        newest = pages.get(found[-1].builds[-1].scoring.build)
        values: dict[str, Any] = {"collection": collection, "groups": groups, "pages": pages, "newest": newest}
        write_file(self.index, render("site.html", "style.css", **values).encode())


def write_site(
    folder: Path,
    collection: Collection,
    seed: int = 0,
    jobs: int = 1,
    notify: Callable[[str], None] = lambda line: None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Site, History]:
    """The pages of all recorded builds that are not there yet, and the list of all. A build whose page is made is
    scored with the verdicts known today, and these scores are recorded, so that page and trend show the same."""
    history, measure = History.of(collection.root), nightly_measure(collection).name
    found = _by_time(trends_if_any(history, measure))
    if not found:
        if history.problems:
            raise InputError(history.problems)
        raise NuggeteerError(f"{history.path}: no build is recorded yet; nuggeteer nightly RUN keeps one")
    site = Site(folder)
    lacking = set(site.lacking(found))
    history.rescore(collection, seed, jobs, lacking)
    found = _by_time(trends_if_any(history, measure))
    wanted = [(trend, build) for trend in found for build in trend.builds if build.scoring.build in lacking]
    progress(0, len(wanted))
    for briefing in brief_builds(collection, history, wanted, seed, jobs, notify):
        site.add(briefing)
        progress(len(site.made), len(wanted))
    site.write_index(collection.root.resolve().name, history, found)
    return site, history


def _by_time(found: Sequence[Trend]) -> list[Trend]:
    """The group with the newest build comes last."""
    return sorted(found, key=lambda trend: (trend.builds[-1].scoring.time, trend.builds[-1].scoring.build))


def file_of(build: int) -> str:
    """The file of a build's page, by its number in the history, which never changes."""
    return f"build-{build}.html"


class BuildPage(Part):
    """A build that has a page."""

    build: Annotated[Count, about("Its number in the history.")]
    page: Annotated[str, about("A file beside `index`.")]
    decision: Decision
    made: Annotated[bool, about("Whether this call wrote the page.")]


class SiteOutput(Part):
    """A page for each recorded build, and the list of them."""

    index: Annotated[str, about("The file with the list.")]
    builds: Sequence[BuildPage]


def as_json(site: Site) -> dict[str, Any]:
    builds = [
        BuildPage(build=build, page=file_of(build), decision=page.decision, made=build in site.made)
        for build, page in sorted(site.pages.items())
    ]
    return SiteOutput(index=str(site.index), builds=builds).as_data()


def draw(out: Console, site: Site) -> None:
    out.print(f"{counted(len(site.made), 'page')} made, {len(site.pages) - len(site.made)} kept.")
    say_whole(out, f"The list is in {site.index}.")
