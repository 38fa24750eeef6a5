"""A folder of pages: which builds have one, and what their gates say."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from nuggeteer.reports.formatting import counted
from nuggeteer.reports.html.site import Site, file_of
from nuggeteer.reports.model import file_name
from nuggeteer.reports.terminal import plain


def as_json(site: Site) -> dict[str, Any]:
    return {
        "index": file_name(str(site.index)),
        "builds": [
            {"build": build, "page": file_of(build), "decision": page.decision, "made": build in site.made}
            for build, page in sorted(site.pages.items())
        ],
    }


def draw(out: Console, site: Site) -> None:
    out.print(f"{counted(len(site.made), 'page')} made, {len(site.pages) - len(site.made)} kept.")
    out.print(plain(f"The list is in {site.index}."), soft_wrap=True)
