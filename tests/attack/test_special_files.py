"""A collection from a stranger: devices and pipes do not stall, and its settings lead nowhere else."""

from __future__ import annotations

import os

import pytest

from nuggeteer.collection.folder import check, read_collection
from nuggeteer.errors import InputError

NUGGETS = [{"qid": "q", "nugget": "1", "text": "a red fox"}]
RUNS = {"r": [("q", "a red fox came")]}
SECRET = "hunter2"


@pytest.fixture
def root(collect):
    return collect(NUGGETS, RUNS).root


@pytest.mark.parametrize(
    "name", ["judgements/x.jsonl", "runs/x.jsonl", "judgements/audits/x.jsonl", "nuggeteer.toml", "nuggets.jsonl"]
)
@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_devices_and_pipes_are_refused_at_once(root, name, kind):
    path = root / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    try:
        found = [str(problem) for problem in check(root)]
    except InputError as error:
        found = [str(error)]
    assert any(name in line for line in found)


@pytest.mark.parametrize("setting", ["external", "idf"])
@pytest.mark.parametrize("how", ["/dev/zero", "../secret", "link", "fifo"])
def test_settings_stay_inside_and_show_nothing_of_what_is_outside(root, setting, how):
    (root.parent / "secret").write_text(f'{{"{SECRET}": 1}}\n{SECRET}\n')
    if how == "link":
        (root / "link").symlink_to(root.parent / "secret")
    if how == "fifo":
        os.mkfifo(root / "fifo")
    (root / "nuggeteer.toml").write_text(f'[match]\nmatcher = "external"\n{setting} = "{how}"\n')
    found = [str(problem) for problem in check(root)]
    assert any("leads out of this folder" in line or "a pipe" in line for line in found)
    assert not any(SECRET in line for line in found)


@pytest.mark.parametrize(
    "line",
    ['page = "../page.html"', 'junit = "judgements/ann.jsonl"', 'markdown = "nuggets.jsonl"', 'page = "link.html"'],
)
def test_the_reports_of_a_night_overwrite_nothing(root, line):
    (root / "link.html").symlink_to(root.parent / "page.html")
    (root / "nuggeteer.toml").write_text(f"[nightly]\n{line}\n")
    with pytest.raises(InputError, match="nightly"):
        read_collection(root)
