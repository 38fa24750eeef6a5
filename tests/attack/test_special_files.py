"""A collection from a stranger: devices and pipes do not stall, and its settings lead nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nuggeteer.asking.prompts import find_prompt
from nuggeteer.cli.main import main
from nuggeteer.collection.checking import check
from nuggeteer.collection.folder import read_collection
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


DEEP = ("runs/x.jsonl", "judgements/x.jsonl", "judgements/audits/x.jsonl")


@pytest.mark.parametrize(
    ("name", "how"),
    [
        *((name, "file") for name in ("questions.jsonl", "nuggets.jsonl", "runs.jsonl", "nuggeteer.toml", *DEEP)),
        *((name, "folder") for name in DEEP),
    ],
)
def test_no_file_of_a_collection_lies_outside_of_it_and_none_is_quoted(root, name, how, capsys):
    """What a message could quote of a file that the user did not name is what its author wants to be published."""
    outside = root.parent / "outside"
    (outside / name).parent.mkdir(parents=True)
    path = root / name
    if how == "folder" and path.parent.exists():
        path.parent.rename(outside / path.parent.relative_to(root))
    (outside / name).write_text(f'{{"qid": "{SECRET}", "run": "{SECRET}"}}\n{SECRET}\n')
    path.unlink(missing_ok=True)
    if how == "folder":
        path.parent.symlink_to((outside / name).parent)
    else:
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(outside / name)
    found = []
    for words in (["check"], ["score", "x" if name == "runs/x.jsonl" else "r"], ["judge", "--log"]):
        main([*words, "--collection", str(root)])
        found += capsys.readouterr()
    assert any(Path(name).name in text and "link that leads out" in text for text in found)
    assert not any(SECRET in text for text in found)


def test_a_collection_may_be_a_link_and_hold_links_to_its_own_files(root, capsys):
    (root / "runs" / "again.jsonl").symlink_to("r.jsonl")
    (root.parent / "link").symlink_to(root)
    assert main(["score", "again", "--collection", str(root.parent / "link")]) == 0


def test_a_run_that_the_command_line_names_may_be_a_link_to_anywhere(root):
    elsewhere = root.parent / "tonight.jsonl"
    (root / "runs" / "r.jsonl").rename(elsewhere)
    (root.parent / "link.jsonl").symlink_to(elsewhere)
    assert main(["score", str(root.parent / "link.jsonl"), "--collection", str(root)]) == 0


@pytest.mark.parametrize("kind", ["link", "fifo"])
@pytest.mark.parametrize("name", ["q/s.ann", "q/s.txt"])
def test_a_folder_of_annotations_shows_nothing_of_what_is_outside(tmp_path, kind, name, capsys):
    (tmp_path / "secret").write_text(f"T1\tLOC 0 1\t{SECRET}\n")
    folder = tmp_path / "brat"
    (folder / "q").mkdir(parents=True)
    (folder / "q" / "s.txt").write_text("some text")
    (folder / "q" / "s.ann").write_text("T1\tLOC 0 4\tnone\n")
    (folder / name).unlink()
    if kind == "link":
        (folder / name).symlink_to(tmp_path / "secret")
    else:
        os.mkfifo(folder / name)
    assert main(["agree", str(folder), str(folder)]) == 2
    told = capsys.readouterr().err
    assert ("leads out" if kind == "link" else "a pipe") in told
    assert SECRET not in told


@pytest.mark.slow
def test_settings_of_gigabytes_are_not_read(root):
    with (root / "nuggeteer.toml").open("wb") as file:
        file.truncate(3 << 30)
    with pytest.raises(InputError, match="larger than"):
        read_collection(root)


def test_a_prompt_is_no_pipe(root):
    os.mkfifo(root / "own.txt")
    with pytest.raises(InputError, match="a pipe"):
        find_prompt(str(root / "own.txt"))


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_sqlites_own_files_are_no_links_and_no_pipes(root, suffix, kind, capsys):
    """It would wait at a pipe for ever."""
    words = ["r", "--collection", str(root)]
    assert main(["score", *words, "--record"]) == 0
    path, precious = root / f"history.sqlite3{suffix}", root.parent / "precious"
    path.unlink(missing_ok=True)
    precious.write_bytes(b"")
    if kind == "link":
        path.symlink_to(precious)
    else:
        os.mkfifo(path)
    for command in (["score", *words, "--record"], ["history", *words[1:]]):
        capsys.readouterr()
        assert main(command) == 2
        assert f"{path.name}: is a link or no regular file" in capsys.readouterr().err
    assert precious.read_bytes() == b""
