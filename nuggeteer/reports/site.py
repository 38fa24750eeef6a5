"""A folder of pages: which builds have one, and what their gates say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from rich.console import Console

from nuggeteer.fields import about
from nuggeteer.reports.formatting import counted
from nuggeteer.reports.html.site import Site, file_of
from nuggeteer.reports.model import Count, Decision, Part, file_name
from nuggeteer.reports.terminal import plain


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
    return SiteOutput(index=file_name(str(site.index)), builds=builds).as_data()


def draw(out: Console, site: Site) -> None:
    out.print(f"{counted(len(site.made), 'page')} made, {len(site.pages) - len(site.made)} kept.")
    out.print(plain(f"The list is in {site.index}."), soft_wrap=True)
