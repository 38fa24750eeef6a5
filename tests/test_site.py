"""The pages hang together: links and anchors resolve, every page is listed, generated pages are up to date."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from tests.conftest import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(
    path
    for folder in (ROOT, DOCS, ROOT / "experiments", ROOT / "judgements")
    for path in (folder.glob("*.md") if folder == ROOT else folder.rglob("*.md"))
)


def prose(path: Path) -> str:
    """A page without its blocks of code, in which brackets and # are no links and headings."""
    return re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


@cache
def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as repository hosts and the site make them."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", prose(path), re.MULTILINE):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
        anchor = re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")
        assert anchor not in found, f"two headings of {path.name} have the anchor {anchor!r}"
        found.add(anchor)
    return found


def links(path: Path) -> list[str]:
    text = re.sub(r"`[^`\n]*`", "", prose(path))
    return [target for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]


def test_links_and_anchors_resolve():
    for path in PAGES:
        for link in links(path):
            name, _, anchor = link.partition("#")
            target = path.parent / name if name else path
            assert target.exists(), (path, link)
            assert not anchor or anchor in anchors(target), (path, link)


def test_lists_and_tables_look_the_same_on_the_site():
    """The site's Markdown wants an empty line before a list, four blanks to nest one, no | in a table's code."""
    for path in PAGES:
        lines = prose(path).splitlines()
        for before, line in zip(["", *lines], lines, strict=False):
            if re.match(r"([-*]|\d+\.) ", line):
                assert not before or re.match(r"([-*]|\d+\.) |  ", before), (path, line)
            assert not re.match(r" {1,3}[-*] ", line), (path, line)
            if line.startswith("|"):
                assert not re.search(r"`[^`]*\\\|[^`]*`", line), (path, line)


def generator():
    spec = spec_from_file_location("generate", DOCS / "generate.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_pages_are_up_to_date():
    """If not: python docs/generate.py"""
    for path, text in generator().PAGES.items():
        assert path.read_text(encoding="utf-8") == text(), path


def listed(entries) -> list[str]:
    """The paths in a part of the site's `nav`, in order."""
    if isinstance(entries, str):
        return [entries]
    values = entries.values() if isinstance(entries, dict) else entries
    return [path for entry in values for path in listed(entry)]


def test_the_site_and_the_index_list_every_page():
    nav = listed(tomllib.loads((DOCS / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"])
    pages = {str(path.relative_to(ROOT)) for path in DOCS.rglob("*.md")}
    assert set(nav) == {*pages, "README.md"}
    assert len(nav) == len(set(nav))
    index = ["README.md" if link == "../README.md" else f"docs/{link}" for link in links(DOCS / "index.md")]
    notebooks = {str(path.relative_to(ROOT)) for path in DOCS.rglob("*.ipynb")}
    assert set(index) == set(nav) - {"docs/index.md"} | notebooks


def test_the_glossary_is_in_alphabetical_order():
    words = re.findall(r"^\| (.+?) \| ", (DOCS / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)[1:]
    assert len(words) > 50
    assert words == sorted(words, key=str.casefold)
