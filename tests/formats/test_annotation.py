"""Annotated snippets in three notations: nothing is lost between them, and what is wrong is told with its place."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nuggeteer.cli.main import main
from nuggeteer.errors import InputError, NuggeteerError
from nuggeteer.formats.annotation import HEADS, Extent, Snippet
from nuggeteer.formats.annotation_files import read_snippets, write_snippets
from nuggeteer.formats.brackets import mark, unmark
from nuggeteer.formats.brat import file_name

NASTY = "[]\\-:() \t\n\r.T1;%/~…é\u0301\u2028\u202e\x1b\x0b\xa0ßnrs"
TEXT = st.text(st.sampled_from(NASTY + "ab0") | st.characters(codec="utf-8"), min_size=1, max_size=30)
NAME = st.text(
    st.sampled_from("[]\\-:(). /%~…aßT1\u4e2d") | st.characters(codec="utf-8").filter(str.isprintable), max_size=12
).map(lambda name: name.strip() or "n")


@st.composite
def extents(draw, text):
    """Some nuggets: pieces in order, each with some word in it."""
    found = []
    for _ in range(draw(st.integers(0, 3))):
        cuts = sorted(draw(st.sets(st.integers(0, len(text)), min_size=2, max_size=6)))
        spans = tuple(
            (start, end) for start, end in zip(cuts[::2], cuts[1::2], strict=False) if text[start:end].strip()
        )
        if spans:
            found.append(Extent(spans, draw(st.sampled_from([None, "LOC", "MY-TYPE_2"]))))
    return tuple(found)


@st.composite
def snippet_lists(draw):
    found = {}
    for _ in range(draw(st.integers(1, 4))):
        text = draw(TEXT) + draw(st.sampled_from("ab0"))  # some visible text
        one = Snippet(draw(NAME), text, draw(extents(text)), draw(st.none() | NAME), *(draw(st.none() | NAME),) * 4)
        found[one.qid, one.snippet] = one
    return list(found.values())


def through(name, snippets):
    """Written under a name, and read again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        lost = write_snippets(path, snippets)
        return read_snippets(path, []), lost


@pytest.mark.slow
@settings(max_examples=60)
@given(snippet_lists())
@example([Snippet("1", "a-LOC b", (Extent(((0, 1),)), Extent(((0, 1), (6, 7)))))])
@example([Snippet("1", " [[a]] \\[ ", (Extent(((1, 9),)),)), Snippet("a: b", "x\n\ty\r", (Extent(((0, 1), (3, 4))),))])
@example([Snippet("Snippet 1:", "Nugget 1: [[x]]"), Snippet("2", "Query: q", (), "Query: q")])
def test_brackets_and_offsets_lose_nothing(snippets):
    """Whatever the texts, and whatever the names."""
    for name in ("a.txt", "a.jsonl"):
        assert through(name, snippets) == (snippets, [])


@pytest.mark.slow
@settings(max_examples=40)
@given(snippet_lists())
def test_brat_keeps_names_texts_types_and_the_marked_words(snippets):
    """Pieces are cut at line feeds; there is no place for conditions, and that is said."""
    again, lost = through("folder", snippets)
    by_name = {(one.qid, one.snippet): one for one in again}
    assert len(by_name) == len(snippets)
    for one in snippets:
        other = by_name[one.qid, one.snippet]
        assert (other.text, [n.type for n in other.nuggets]) == (one.text, [n.type for n in one.nuggets])
        for mine, theirs in zip(one.nuggets, other.nuggets, strict=True):
            if "\n" not in one.text:
                assert theirs.spans == mine.spans
            assert marked_words(theirs.spans, one.text) == marked_words(mine.spans, one.text)
    assert lost == [name for name in HEADS if any(getattr(one, name) for one in snippets)]


def marked_words(spans, text):
    return [i for start, end in spans for i in range(start, end) if not text[i].isspace()]


@given(TEXT.filter(str.strip).flatmap(lambda text: st.tuples(st.just(text), extents(text))))
def test_a_mark_is_read_as_it_was_written(marked):
    text, nuggets = marked
    for nugget in nuggets:
        line = mark(text, nugget.spans)
        assert "\n" not in line
        assert unmark(line) == (text, (Extent(nugget.spans),))


@given(st.text(st.sampled_from("[]\\-LOCab ns"), max_size=20))
def test_no_line_of_brackets_does_worse_than_be_refused(line):
    """Either it says what is wrong or what it marks, within its text."""
    from nuggeteer.fields import WrongField

    try:
        text, nuggets = unmark(line)
    except WrongField:
        return
    assert all(0 <= start <= end <= len(text) for one in nuggets for start, end in one.spans)


def test_white_space_may_differ_from_the_snippets(tmp_path):
    """The paper's own lines have spaces within brackets (2008, §3.1)."""
    path = tmp_path / "a.txt"
    path.write_text(
        "Snippet 1: The five attacks resulted in 80 deaths\n"
        "Nugget 1: The five [[ attacks resulted in]] 80 [[ deaths]]\n"
        "Nugget 2: [[The five]]  attacks resulted in 80 deaths\n"
        "Nugget 3 (NUM). The five attacks resulted in [[ 80]] deaths \n"
    )
    (one,) = read_snippets(path, problems := [])
    words = [[one.text[start:end] for start, end in nugget.spans] for nugget in one.nuggets]
    assert words == [["attacks resulted in", "deaths"], ["The five"], ["80"]]
    assert [nugget.type for nugget in one.nuggets] == [None, None, "NUM"]
    assert problems == []


def test_the_papers_categories_in_capitals_are_types(tmp_path):
    """2008, §3.2.1, as printed: a line may repeat a part of its snippet."""
    path = tmp_path / "a.txt"
    path.write_text(
        "Query: LIST FACTS ABOUT EVENT [The Hamas victory in Palestinian parliamentary elections]\n"
        "Distiller: A\n"
        "Snippet 1: Russia invited Hamas leaders to Moscow for talks\n"
        "Nuggets:\n"
        "CONSEQUENCE: [[Russia invited Hamas leaders]] to Moscow [[for talks]]\n"
        "CONSEQUENCE-LOC: Russia invited Hamas leaders [[to Moscow]] for talks\n"
        "Snippet 2: Whittington was shot with pellets on a private Texas ranch, Moscow said to Moscow\n"
        "SUBEVENT/EXECUTION/MANNER: [[Whittington was shot]] with pellets\n"
        "LOCATION: [[on a private Texas ranch]]\n"
    )
    one, two = read_snippets(path, problems := [])
    assert problems == []
    assert one.distiller == two.distiller == "A"
    marked = [(n.type, [one.text[a:b] for a, b in n.spans]) for n in one.nuggets]
    assert marked == [
        ("CONSEQUENCE", ["Russia invited Hamas leaders", "for talks"]),
        ("CONSEQUENCE-LOC", ["to Moscow"]),
    ]
    marked = [(n.type, [two.text[a:b] for a, b in n.spans]) for n in two.nuggets]
    assert marked == [
        ("SUBEVENT/EXECUTION/MANNER", ["Whittington was shot"]),
        ("LOCATION", ["on a private Texas ranch"]),
    ]
    path.write_text("Snippet 1: to Moscow and to Moscow\nLOCATION: [[to Moscow]]\n")
    with pytest.raises(InputError, match="shorter than its snippet's"):
        read_snippets(path, [])


def test_two_distillers_may_use_the_same_names_but_not_in_one_brat_folder(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Distiller: A\nSnippet 1: x\nDistiller: B\nSnippet 1: y\n")
    found = read_snippets(path, [])
    assert [one.distiller for one in found] == ["A", "B"]
    with pytest.raises(NuggeteerError, match="two snippets are called '1'"):
        write_snippets(tmp_path / "folder", found)


def test_heads_hold_until_they_change(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Medium: audio\nQuery: q [x]\nSnippet 1: a\nSnippet 2: b\nQuery: r\nMedium:\nSnippet 1: c\n")
    found = read_snippets(path, [])
    assert [(one.qid, one.snippet, one.medium) for one in found] == [
        ("q [x]", "1", "audio"),
        ("q [x]", "2", "audio"),
        ("r", "1", None),
    ]


HEAD = "Snippet 1: Iraq can import food\n"


@pytest.mark.parametrize(
    ("content", "line", "what"),
    [
        (HEAD + "Nugget: [[Iraq [[can]] import]] food", 2, "cannot be nested"),
        (HEAD + "Nugget: [[Iraq can import food", 2, "not closed"),
        (HEAD + "Nugget: Iraq can]] import food", 2, "without"),
        (HEAD + "Nugget: Iraq can import food", 2, "no [[double brackets]]"),
        (HEAD + "Nugget: [[ ]]Iraq can import food", 2, "marks nothing"),
        (
            HEAD + "\n\nNugget: [[Irag can]] import food",
            4,
            "has 'g can import food' where its snippet has 'q can import food'",
        ),
        (HEAD + "Nugget: [[Iraq can]] import", 2, "is shorter"),
        (HEAD + "Nugget: [[Iraq can]] import food, too", 2, "is longer"),
        (HEAD + "Nugget: [[Iraq]]-GPE can import [[food]]", 2, "some brackets have a type"),
        (HEAD + "Nugget (PER): [[Iraq]]-GPE can import food", 2, "two types"),
        (HEAD + "Nugget: [[Iraq\\q]] can import food", 2, "a backslash before 'q'"),
        (HEAD + "Nugget: [[Iraq]] can import food\\", 2, "a backslash before ''"),
        (HEAD + "more of it", 2, "does not start with Snippet, Nugget"),
        (HEAD + "Snippet 1: something else", 2, "a.txt:1"),
        ("Nugget: [[Iraq]] can", 1, "before any snippet"),
        ("Snippet 1: [[Iraq]] can", 1, "a snippet has no double brackets"),
        ("Snippet 1: \\s", 1, "no text"),
        ("Snippet : text", 1, "not a valid id"),
        ("Query: \x07", 1, "not a valid id"),
        ("\n", None, "no snippet in it"),
        ("", None, "no snippet in it"),
    ],
)
def test_wrong_brackets_are_told_with_their_place(tmp_path, content, line, what):
    path = tmp_path / "a.txt"
    path.write_text(content, newline="")
    with pytest.raises(InputError) as told:
        read_snippets(path, [])
    (problem,) = told.value.problems
    assert (problem.file, problem.line) == (str(path), line)
    assert what in problem.what
    assert problem.remedy


def offsets(*spans, **more):
    return {"snippet": "1", "text": "Iraq can", "nuggets": [{"spans": [list(span) for span in spans], **more}]}


@pytest.mark.parametrize(
    ("record", "what"),
    [
        (offsets((0, 4), (3, 8)), "overlap or are out of order"),
        (offsets((5, 8), (0, 4)), "overlap or are out of order"),
        (offsets((0, 9)), "outside the text"),
        (offsets((-1, 4)), "outside the text"),
        (offsets((4, 4)), "is empty"),
        (offsets((4, 5)), "has no word in it"),
        (offsets(), "without spans"),
        (offsets((0, True)), "without spans"),
        (offsets((0, 4), type="a(b)"), "has brackets"),
        (offsets((0, 4), type="\x1b"), "not a valid id"),
        ({**offsets((0, 4)), "nuggets": {}}, "not a list"),
        ({**offsets((0, 4)), "text": " "}, "has no text"),
        ({"snippet": "1", "text": "x"}, "no 'nuggets'"),
    ],
)
def test_wrong_offsets_are_told_with_their_place(tmp_path, record, what):
    path = tmp_path / "a.jsonl"
    good = {"snippet": "0", "text": "x", "nuggets": []}
    path.write_text(json.dumps(good) + "\n" + json.dumps(record) + "\n")
    with pytest.raises(InputError) as told:
        read_snippets(path, [])
    (problem,) = told.value.problems
    assert (problem.file, problem.line) == (str(path), 2)
    assert what in problem.what


def brat(folder, ann, text="Iraq can import"):
    folder.mkdir(exist_ok=True)
    (folder / "1.txt").write_bytes(text.encode())
    (folder / "1.ann").write_bytes(ann.encode())
    return folder


def test_brat_as_brat_writes_it(tmp_path):
    """Discontinuous text-bound annotations, in any order of pieces; what is no nugget is counted and told."""
    ann = "T1\tLOC 9 15;0 4\timport Iraq\nA1\tNegation T1\n#1\tAnnotatorNotes T1\tsure?\nT2\tNugget 5 8\tcan\n"
    (one,) = read_snippets(brat(tmp_path / "b", ann), problems := [])
    assert one.nuggets == (Extent(((0, 4), (9, 15)), "LOC"), Extent(((5, 8),)))
    assert one.name == (None, None, "1")
    (told,) = problems
    assert (told.severity, told.line) == ("warning", 2)
    assert told.what.startswith("2 lines")
    (alone,) = read_snippets(tmp_path / "b" / "1.ann", [])
    assert alone == one


@pytest.mark.parametrize(
    ("ann", "line", "what"),
    [
        ("T1\tLOC 0 4\tIraq\nT2\tLOC 0 4\tIran\n", 2, "the text has 'Iraq' at these offsets, not 'Iran'"),
        ("T1\tLOC 0 4;3 8\tIraq q can\n", 1, "overlap"),
        ("T1\tLOC 0 99\tIraq\n", 1, "outside"),
        ("T1 LOC 0 4 Iraq\n", 1, "between tabs"),
    ],
)
def test_wrong_standoff_is_told_with_its_place(tmp_path, ann, line, what):
    with pytest.raises(InputError) as told:
        read_snippets(brat(tmp_path / "b", ann), [])
    (problem,) = told.value.problems
    assert (problem.file, problem.line) == (str(tmp_path / "b" / "1.ann"), line)
    assert what in problem.what


def test_a_text_that_nobody_annotated_is_no_irrelevant_one(tmp_path):
    folder = brat(tmp_path / "b", "")
    (folder / "2.txt").write_text("more")
    with pytest.raises(InputError, match=r"2\.txt: has no \.ann file with the same name"):
        read_snippets(folder, [])


@given(NAME)
def test_names_of_files_are_harmless_and_can_be_read_back(name):
    from urllib.parse import unquote

    try:
        safe = file_name(name)
    except NuggeteerError:
        assert len(name) > 16
        return
    assert set(safe) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~%")
    assert unquote(safe) == name


def test_nothing_is_half_written_or_overwritten(tmp_path):
    good = Snippet("1", "Iraq", (Extent(((0, 4),), "LOC"),))
    bad = replace(good, snippet="2", nuggets=(Extent(((0, 4),), "NO TYPE"),))
    with pytest.raises(NuggeteerError, match="cannot be written for brat"):
        write_snippets(tmp_path / "b", [good, bad])
    lone = replace(good, snippet="3", text="\ud800raq")
    for name in ("b", "b.txt", "b.jsonl"):
        with pytest.raises(NuggeteerError):
            write_snippets(tmp_path / name, [good, lone])
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "mine").write_text("x")
    with pytest.raises(NuggeteerError, match="already exists"):
        write_snippets(tmp_path / "b", [good])
    assert (tmp_path / "b" / "mine").read_text() == "x"


def test_convert_goes_all_the_way_round(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("Query: q\nSnippet 1: Chen visited Taiwan\nNugget 1: Chen visited [[Taiwan]]-LOC\n")
    for before, after in (("a.txt", "b.jsonl"), ("b.jsonl", "c"), ("c", "d.txt")):
        assert main(["convert", "annotation", before, "--out", after]) == 0
    assert Path("d.txt").read_text() == (
        "Query: q\nSnippet 1: Chen visited Taiwan\nNugget 1 (LOC): Chen visited [[Taiwan]]\n"
    )
    capsys.readouterr()
    for wrong in (["--into", "c"], ["--out", "x.csv"], ["more.txt", "--out", "x.txt"]):
        assert main(["convert", "annotation", "a.txt", *wrong]) == 2
    assert "Traceback" not in capsys.readouterr().err
