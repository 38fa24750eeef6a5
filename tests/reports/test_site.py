"""A folder of pages: which are made, when one is made again, and what the list says of them."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.history.nightly import nightly
from nuggeteer.history.store import History
from nuggeteer.history.trend import trends
from nuggeteer.reports.html.site import Site, write_site
from tests.conftest import write_lines
from tests.reports.browsing import Visit, browser, needs_chromium
from tests.reports.hostile import hostile
from tests.reports.test_html import Reader

__all__ = ["browser"]


@pytest.fixture(scope="module")
def recorded(_sample_folder, tmp_path_factory):
    """The sample with three nights, and what was decided on each."""
    root = shutil.copytree(_sample_folder, tmp_path_factory.mktemp("site") / "demo")
    nights = [nightly(read_collection(root), f"build-{n}", label=f"night {n}") for n in (101, 102, 103)]
    return root, [night.ruling for night in nights]


@pytest.fixture
def root(recorded, tmp_path):
    return shutil.copytree(recorded[0], tmp_path / "demo")


def made(root, folder):
    site, _ = write_site(folder, read_collection(root))
    return site.made


@pytest.mark.slow
def test_each_build_has_its_page_with_its_own_morning(recorded, root, tmp_path):
    folder = tmp_path / "public"
    site, _ = write_site(folder, read_collection(root))
    assert site.made == [1, 2, 3]
    assert {path.name for path in folder.iterdir()} == {
        "index.html", "site.json", "build-1.html", "build-2.html", "build-3.html"
    }  # fmt: skip
    (trend,) = trends(History.of(root))
    index = Reader((folder / "index.html").read_text(encoding="utf-8"))
    for number, build, ruling in zip((1, 2, 3), trend.builds, recorded[1], strict=True):
        page = Reader((folder / f"build-{number}.html").read_text(encoding="utf-8"))
        name = f"build-{100 + number} (night {100 + number})"
        assert page.inside["title"][0].startswith(f"{ruling.title}: {name}")
        assert f"{build.interval.value:.3f} F(3), 95 % interval" in page.text, "page and history show the same"
        links = [attrs["href"] for tag, attrs in page.elements if tag == "a" and not attrs["href"].startswith("#")]
        assert links == ["index.html", *([f"build-{number - 1}.html"] if number > 1 else [])]
        assert f"{name} " in index.text
        assert f"night {101 + number}" not in page.text, "what came later is not in it"
        against = f"against {ruling.old.title}: " if ruling.old else ""
        said = f"{ruling.title} {against}{ruling.reason} {build.interval.value:.3f}"
        assert re.search(rf"{re.escape(name)} . {re.escape(said)}", index.text), "no colon before the first reason"
    assert index.text.index("build-103") < index.text.index("build-102"), "the newest first"


@pytest.mark.slow
def test_a_page_stays_until_its_build_is_scored_again_but_the_newest_is_always_made(root, tmp_path, few_pairs):
    folder = tmp_path / "public"
    assert made(root, folder) == [1, 2, 3]
    kept = (folder / "build-2.html").read_bytes()
    assert made(root, folder) == [3]
    write_lines(
        root / "judgements" / "new.jsonl",
        [{"qid": "def-01", "nugget": "1", "text": "Some new text.", "verdict": True, "assessor": "ann"}],
    )
    assert made(root, folder) == [3], "new verdicts are for new pages"
    assert (folder / "build-2.html").read_bytes() == kept
    History.of(root).rescore(read_collection(root))
    assert made(root, folder) == [1, 2, 3]
    (folder / "build-1.html").unlink()
    assert made(root, folder) == [1, 3]
    for broken in ("", "[]", '{"pages": {"1": {"signature": 1, "decision": "<b>"}}}', '{"pages": {"x": {}}}'):
        (folder / "site.json").write_text(broken)
        assert Site(folder).pages == {}
    assert made(root, folder) == [1, 2, 3]


@pytest.mark.slow
def test_a_page_that_is_made_late_shows_what_the_history_then_shows(root, tmp_path, few_pairs):
    """Its build is scored with the verdicts known today, and that is recorded."""
    write_lines(
        root / "judgements" / "new.jsonl",
        [{"qid": "def-01", "nugget": "1", "text": "Some new text.", "verdict": True, "assessor": "ann"}],
    )
    folder = tmp_path / "public"
    assert made(root, folder) == [1, 2, 3]
    (trend,) = trends(History.of(root))
    assert all(build.comparable for build in trend.builds)
    assert {page["signature"] for page in json.loads((folder / "site.json").read_text())["pages"].values()} == {
        build.scoring.signature for build in trend.builds
    }


@pytest.mark.slow
def test_a_build_whose_answers_are_damaged_is_listed_without_a_page(root, tmp_path, capsys):
    history = History.of(root)
    with history._database.read() as db:
        only = "text NOT IN (SELECT text FROM responses WHERE build <> 2)"
        (text,) = db.execute(f"SELECT text FROM responses WHERE build = 2 AND {only} LIMIT 1").fetchone()
    history._database.write(lambda db: db.execute("UPDATE main.texts SET text = 'other' WHERE id = ?", (text,)))
    folder = tmp_path / "public"
    assert main(["report", "--collection", str(root), "--site", str(folder)]) == 0
    assert "damaged" in capsys.readouterr().err
    assert not (folder / "build-2.html").exists()
    assert "build-102 (night 102) no page" in Reader((folder / "index.html").read_text()).text
    assert (folder / "build-3.html").exists()


@pytest.mark.slow
def test_the_command_says_how_many_were_made(root, tmp_path, capsys):
    where = ["report", "--collection", str(root), "--site", str(tmp_path / "public")]
    assert main(where) == 0
    assert capsys.readouterr().out.splitlines()[0] == "3 pages made, 0 kept."
    assert main([*where, "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [(one["build"], one["page"], one["made"]) for one in data["builds"]] == [
        (1, "build-1.html", False), (2, "build-2.html", False), (3, "build-3.html", True)
    ]  # fmt: skip


@pytest.mark.parametrize("arguments", [["build-101"], ["--against", "build-101"], ["--output", "x.html"]])
def test_a_site_is_of_all_recorded_builds(root, tmp_path, arguments, capsys):
    where = ["report", "--collection", str(root), "--site", str(tmp_path / "public"), *arguments]
    try:
        code = main(where)
    except SystemExit as stop:
        code = stop.code
    assert code == 2
    assert "--site" in capsys.readouterr().err
    assert not (tmp_path / "public").exists()


def test_without_a_recorded_build_it_says_how_to_record_one(sample, tmp_path, capsys):
    assert main(["report", "--collection", str(sample.root), "--site", str(tmp_path / "public")]) == 2
    assert "nuggeteer nightly RUN keeps one" in capsys.readouterr().err
    assert not (tmp_path / "public").exists()


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize("width", [1280, 400])
def test_the_list_can_be_read_and_leads_to_the_pages(browser, root, tmp_path, width):
    folder = tmp_path / "public"
    made(root, folder)
    seen = Visit(browser, folder / "index.html", viewport={"width": width, "height": 800})
    page = seen.page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.get_by_role("row").count() >= 3
    assert page.get_by_role("img").count() == 1
    page.get_by_role("rowheader").first.get_by_role("link").click()
    assert page.locator("h1").inner_text() == "build-103 (night 103)"
    page.get_by_role("link", name=re.compile("^Before")).click()
    assert page.locator("h1").inner_text() == "build-102 (night 102)"
    page.get_by_role("link", name="All builds").click()
    assert page.locator("h1").inner_text() == "Builds"
    assert seen.complaints == []
    page.close()


@pytest.mark.slow
@needs_chromium
def test_hostile_names_do_nothing_in_the_list(browser, tmp_path):
    root = hostile(tmp_path / "bad")
    for name in read_collection(root).run_names[1:]:
        nightly(read_collection(root), name, label="<script>window.owned = 12</script>")
    folder = tmp_path / "public"
    made(root, folder)
    seen = Visit(browser, folder / "index.html")
    assert seen.owned() is None
    assert seen.complaints == []
    assert [url for url in seen.requests if url != seen.url and not url.startswith("data:")] == []
    assert "<script>window.owned = 12</script>" in seen.page.locator("main").inner_text()
    links = seen.page.evaluate("[...document.links].map(link => link.getAttribute('href'))")
    assert all(re.fullmatch(r"#[a-z0-9-]+|build-\d+\.html", link) for link in links)
    seen.page.close()
