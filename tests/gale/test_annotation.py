"""Agreement of annotators: the paper's formula on its own examples and by brute force; its table as far as it goes."""

from __future__ import annotations

import io
import json
import random
import re
import shlex
import shutil
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from nuggeteer.cli.main import main
from nuggeteer.errors import InputError, NuggeteerError
from nuggeteer.formats.annotation import CONDITIONS, Extent, Snippet
from nuggeteer.formats.annotation_files import read_snippets, write_snippets
from nuggeteer.gale.annotation import agree, inside, meaningful
from nuggeteer.reports.annotators import as_json
from tests.conftest import ROOT
from tests.tables import read_table

FILES = ("first", "second")

# Babko-Malaya 2008, §3, and 2010, §3.1 and 3.3, as printed (what the scan misread is corrected: "Irag", "lrag").
PRINTED = """\
Snippet war: Before receiving the war spending bill from Congress, the president will fly to the headquarters of the \
U.S. Central Command in Tampa, Florida
Nugget 1. Before receiving the war spending bill from Congress, [[the president will fly to the headquarters of the \
U.S. Central Command]] in Tampa, Florida
Nugget 2. Before [[receiving the war spending bill from Congress, the president]] will fly to the headquarters of the \
U.S. Central Command in Tampa, Florida
Nugget 3: [[Before receiving the war spending bill from Congress]], the president will fly to the headquarters of the \
U.S. Central Command in Tampa, Florida
Nugget 4: Before receiving the war spending bill from Congress, the president will fly to the headquarters of the \
U.S. Central Command [[in Tampa, Florida]]

Snippet attacks: The five attacks resulted in 80 deaths
Nugget 1: The five [[ attacks resulted in]] 80 [[ deaths]]
Nugget 2: [[The five]] attacks resulted in 80 deaths
Nugget 3: The five attacks resulted in [[ 80]] deaths

Snippet policeman: A U.N. policeman from India's southern state of Kerala, was shot to death
Nugget 1: [[A U.N. policeman]] from India's southern state of Kerala, [[was shot to death]]
Nugget 2: A U.N. policeman [[from India's southern state of Kerala]], was shot to death

Snippet Sharon: Israeli Prime Minister Ariel Sharon talked with Ben-Ami.
Nugget 1: [[Israeli Prime Minister Ariel Sharon]] talked with Ben-Ami.
Nugget 2: [[Israeli Prime Minister Ariel Sharon talked with Ben-Ami.]]

Snippet Iraq: Iraq can import food, medicines and other goods needed for the country's shattered infrastructure
Nugget 1: [[Iraq can import food]], medicines and other goods needed for the country's shattered infrastructure
Nugget 2: [[Iraq can import]] food, [[medicines]] and other goods needed for the country's shattered infrastructure
Nugget 3: [[Iraq can import]] food, medicines [[and other goods needed for the country's shattered infrastructure]]

Snippet Aziz: Iraq's Deputy Prime Minister Tariq Aziz said that ballistic missiles held by Baghdad do not violate UN \
accords, and Iraq would welcome more UN weapons inspectors in the country.
Nugget 1: [[Iraq's Deputy Prime Minister Tariq Aziz said that ballistic missiles held by Baghdad do not violate UN \
accords,]] and Iraq would welcome more UN weapons inspectors in the country.
Nugget 2: [[Iraq's Deputy Prime Minister Tariq Aziz said]] that ballistic missiles held by Baghdad do not violate UN \
accords, [[and Iraq would welcome more UN weapons inspectors in the country]].

Snippet spokeswoman: A spokeswoman said that there were no details available
Nugget1: A spokeswoman said that [[there were no details available]]
Nugget2: [[A spokeswoman said that there were no details available]]

Snippet Finneran: Finneran invited Mitt Romney to a baseball game he could not attend because of a previous engagement
Nugget1:[[Finneran invited Mitt Romney to a baseball game]] he could not attend because of a previous engagement
Nugget2: Finneran invited Mitt Romney to a baseball game [[he could not attend]] because of a previous engagement
Nugget3: Finneran invited Mitt Romney to a baseball game he could not attend [[because of a previous engagement]]

Snippet Kirchner: George W. Bush telephoned Kirchner to wish him well
Nugget: George W. Bush telephoned [[Kirchner]] to wish him well

Snippet Hamas: Russia invited Hamas leaders to Moscow for talks
Nugget (CONSEQUENCE): [[Russia invited Hamas leaders]] to Moscow [[for talks]]
Nugget (CONSEQUENCE-LOC): Russia invited Hamas leaders [[to Moscow]] for talks

Snippet Straw: British Foreign Secretary Jack Straw went to a summit in Egypt
Nugget1 (person). British Foreign Secretary [[Jack Straw]] went to a summit in Egypt
Nugget2 (title). [[British Foreign Secretary]] Jack Straw went to a summit in Egypt
Nugget3 (event). British Foreign Secretary [[Jack Straw went to a summit]] in Egypt
Nugget4 (location). British Foreign Secretary Jack Straw went to a summit [[in Egypt]]

Snippet Chen: Chen Yunlin visited Taiwan in January
Nuggets: Chen Yunlin visited [[Taiwan]]-LOC [[in January]]-TMP

Snippet deputy: Chen's deputy, Zhang Mingqing, was attacked by protesters during an informal visit to the southern \
Taiwanese city of Tainan
Nuggets: Chen's deputy, Zhang Mingqing, was attacked by protesters during an informal visit [[to the southern \
Taiwanese city of Tainan]]-LOC

Snippet Moscow: Moscow confirmed that samples were delivered to a laboratory.
Nugget: [[Moscow]]-GPE confirmed that samples were delivered to a laboratory.

Snippet Toledo: President Alejandro Toledo denied Wednesday that terrorism was on the rise
Nugget: President Alejandro Toledo [[denied]]-STM Wednesday that terrorism was on the rise
"""
PIECES = {
    "attacks": [["attacks resulted in", "deaths"], ["The five"], ["80"]],
    "policeman": [["A U.N. policeman", "was shot to death"], ["from India's southern state of Kerala"]],
    "Iraq": [
        ["Iraq can import food"],
        ["Iraq can import", "medicines"],
        ["Iraq can import", "and other goods needed for the country's shattered infrastructure"],
    ],
    "Kirchner": [["Kirchner"]],
    "Hamas": [["Russia invited Hamas leaders", "for talks"], ["to Moscow"]],
    "Chen": [["Taiwan"], ["in January"]],
    "deputy": [["to the southern Taiwanese city of Tainan"]],
    "Moscow": [["Moscow"]],
    "Toledo": [["denied"]],
}
TYPES = {
    "Hamas": ["CONSEQUENCE", "CONSEQUENCE-LOC"],
    "Straw": ["person", "title", "event", "location"],
    "Chen": ["LOC", "TMP"],
    "deputy": ["LOC"],
    "Moscow": ["GPE"],
    "Toledo": ["STM"],
}


@pytest.fixture
def printed(tmp_path):
    path = tmp_path / "printed.txt"
    path.write_text(PRINTED)
    return {one.snippet: one for one in read_snippets(path, [])}


def test_the_papers_nuggets_are_read_as_printed(printed):
    assert len(printed) == 15
    assert sum(len(one.nuggets) for one in printed.values()) == 33
    for name, pieces in PIECES.items():
        one = printed[name]
        assert [[one.text[start:end] for start, end in nugget.spans] for nugget in one.nuggets] == pieces
    for name, one in printed.items():
        assert [nugget.type for nugget in one.nuggets] == TYPES.get(name, [None] * len(one.nuggets))


def test_the_bracket_that_the_paper_does_not_close_is_told(tmp_path):
    """2008, §3.1: the second nugget of Sharon ends in a single bracket, and a footnote's number."""
    path = tmp_path / "a.txt"
    path.write_text("Snippet 1: Sharon talked with Ben-Ami.\nNugget 2: [[Sharon talked with Ben-Ami. 1]\n")
    with pytest.raises(InputError, match=r"a\.txt:2: '\[\[' is not closed"):
        read_snippets(path, [])


def marked(*lines, **more):
    """A snippet from lines with single brackets."""
    nuggets = []
    for line in lines:
        spans, text = [], ""
        for piece in line.split("["):
            inner, closed, rest = piece.partition("]")
            if closed:
                spans.append((len(text), len(text) + len(inner)))
            text += inner + rest
        nuggets.append(Extent(tuple(spans)))
    texts = {line.replace("[", "").replace("]", "") for line in lines}
    assert len(texts) == 1
    return Snippet("1", texts.pop(), tuple(nuggets), **more)


def overlap(first, second):
    row = agree(FILES, [first], [second]).rows[-1]
    return row.overlap.value


def test_overlap_of_the_papers_examples_counted_by_hand():
    """The utterance (27 letters) against the whole statement (20 more); "NOT" against what belongs there (17 of 26); a
    nugget split for citations, which changes nothing but the comma."""
    inner = marked("A spokeswoman said that [there were no details available]")
    whole = marked("[A spokeswoman said that there were no details available]")
    assert overlap(inner, whole) == overlap(whole, inner) == pytest.approx(27 / (0.5 * 20 + 27))
    sales = marked("[Sales exceeded last year’s peak]")
    wrong = marked("[Sales exceeded] last year’s [peak]")
    assert overlap(sales, wrong) == pytest.approx(17 / (0.5 * 9 + 17))
    one = marked("late Sunday [on the motorway, some 55 kilometers (33 miles) north of the capital]")
    two = marked(
        "late Sunday [on the motorway], some 55 kilometers (33 miles) north of the capital",
        "late Sunday on the motorway, [some 55 kilometers (33 miles) north of the capital]",
    )
    assert overlap(one, two) == 1.0


def test_all_nuggets_of_an_annotator_count_together(printed):
    """The war example's four nuggets cover every word; nuggets 1 and 4 without the first clause."""
    war = printed["war"]
    assert inside(war.text, war.nuggets).all()
    rest = replace(war, nuggets=(war.nuggets[0], war.nuggets[3]))
    missing = len("BeforereceivingthewarspendingbillfromCongress")
    whole = sum(char.isalnum() for char in war.text)
    assert overlap(war, rest) == pytest.approx((whole - missing) / (whole - missing / 2))


def test_only_letters_and_digits_count():
    text = "U.N.—33 (miles), café №5 中"
    assert "".join(char for char, counts in zip(text, meaningful(text), strict=True) if counts) == "UN33milescafé5中"


def random_snippets(seed, count=40, queries=12):
    rng = random.Random(seed)
    text = "The UN police said, at last: 3 officers (of 12) were killed — late on Sunday."
    found = []
    for i in range(count):
        nuggets = []
        for _ in range(rng.choice([0, 1, 1, 2, 3])):
            cuts = sorted(rng.sample(range(len(text)), rng.choice([2, 4])))
            spans = tuple((a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=True) if text[a:b].strip())
            nuggets += [Extent(spans)] if spans else []
        conditions = dict(zip(CONDITIONS, (f"m{i % 2}", f"l{i % 3}", None), strict=True))
        found.append(Snippet(str(i), text, tuple(nuggets), f"q{i % queries}", **conditions))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_agreement_by_brute_force(seed):
    """Character by character, in sets; κ by scikit-learn; for all snippets and for each condition."""
    first, second = random_snippets(seed), random_snippets(seed + 100)
    found = agree(FILES, first, second)
    assert [(row.condition, row.value) for row in found.rows] == [
        ("medium", "m0"),
        ("medium", "m1"),
        ("language", "l0"),
        ("language", "l1"),
        ("language", "l2"),
        (None, None),
    ]
    assert found.resampled == "queries"
    for row in found.rows:
        pairs = [
            (a, b)
            for a, b in zip(first, second, strict=True)
            if row.condition is None or getattr(a, row.condition) == row.value
        ]
        relevant = [(bool(a.nuggets), bool(b.nuggets)) for a, b in pairs]
        assert row.snippets == len(pairs)
        assert row.relevance.value == pytest.approx(np.mean([a == b for a, b in relevant]))
        assert row.relevance_kappa.value == pytest.approx(cohen_kappa_score(*zip(*relevant, strict=True)))
        both = difference = 0
        here, there = [], []
        for a, b in pairs:
            if a.nuggets and b.nuggets:
                inside, other = (
                    {i for n in one.nuggets for start, end in n.spans for i in range(start, end)} for one in (a, b)
                )
                counting = [i for i, char in enumerate(a.text) if char.isalpha() or char.isdigit()]
                both += len(inside & other & set(counting))
                difference += len((inside ^ other) & set(counting))
                here += [i in inside for i in counting]
                there += [i in other for i in counting]
        assert row.overlap.value == pytest.approx(both / (0.5 * difference + both))
        assert row.character_kappa.value == pytest.approx(cohen_kappa_score(here, there))
    total = found.rows[-1]
    for one in (total.relevance, total.relevance_kappa, total.overlap, total.character_kappa):
        assert one.low < one.value < one.high


# Babko-Malaya 2008, table 1: relevancy agreement and nugget overlap, by three ways to share the snippets out.


def test_what_is_undefined_is_not_zero():
    nothing = Snippet("1", "Iraq can", ())
    row = agree(FILES, [nothing], [nothing]).rows[-1]
    assert (row.relevance.value, row.relevance_kappa.value, row.overlap.value) == (1.0, None, None)
    result = agree(FILES, [nothing], [replace(nothing, nuggets=(Extent(((0, 4),)),))])
    assert (result.rows[-1].relevance.value, result.rows[-1].overlap.value) == (0.0, None)
    assert result.snippets[0].overlap is None
    assert result.resampled == "snippets"


def test_what_only_one_annotated_is_left_out_and_counted():
    first, second = random_snippets(0, 5), random_snippets(1, 7)
    result = agree(FILES, first, second)
    assert (len(result.snippets), result.alone) == (5, (0, 2))
    with pytest.raises(NuggeteerError, match="have no snippet in common"):
        agree(FILES, first, [replace(one, qid="other") for one in second])


def test_a_condition_may_stand_in_one_file_and_must_not_differ():
    (one,) = random_snippets(0, 1)
    bare = replace(one, medium=None, language=None)
    assert [row.value for row in agree(FILES, [bare], [one]).rows] == ["m0", "l0", None]
    with pytest.raises(InputError, match=r"b\.txt:3: snippet '0' has the medium 'audio' here and 'm0' in a\.txt:2"):
        agree(FILES, [replace(one, file="a.txt", line=2)], [replace(one, medium="audio", file="b.txt", line=3)])


def test_the_text_is_the_same_but_for_white_space_and_punctuation():
    one = Snippet("1", "Iraq can import", (Extent(((0, 4),)),))
    spaced = Snippet("1", "Iraq,  can\nimport!", (Extent(((0, 5),)),), file="b.txt", line=9)
    assert overlap(one, spaced) == 1.0
    message = r"b\.txt:9: the text of snippet '1' differs from a\.txt:1, starting at 'ncanimport'"
    with pytest.raises(InputError, match=message):
        agree(FILES, [replace(one, file="a.txt", line=1)], [replace(spaced, text="Iran,  can\nimport!", nuggets=())])


def test_the_command_reads_three_notations_and_says_what_the_json_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    first, second = random_snippets(0), random_snippets(1)
    write_snippets(tmp_path / "a.txt", first)
    for name in ("b.txt", "b.jsonl", "b"):
        write_snippets(tmp_path / name, second)
    found = []
    for name in ("b.txt", "b.jsonl", "b"):
        assert main(["agree", "a.txt", name, "--list", "2", "--json", "out.json"]) == 0
        out = capsys.readouterr().out
        found.append(json.loads((tmp_path / "out.json").read_text()))
        row = read_table(out, "snippets", "nugget overlap")[-1]
        assert (row[""], row["snippets"]) == ("all", "40")
        assert row["nugget overlap"] == f"{found[-1]['rows'][-1]['overlap']['value']:.3f}"
        assert max(map(len, out.splitlines())) <= 80
        assert "more (--list COUNT, or --json)" in out
    rows = [one["rows"] for one in found]
    assert rows[0] == rows[1] == rows[2] == as_json(agree(FILES, first, second))["rows"]
    shutil.rmtree(tmp_path / "b")
    assert main(["agree", "a.txt", "b"]) == 2
    assert main(["agree", "a.txt"]) == 2
    assert main(["agree", "a.txt", "b.txt", "b.jsonl"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_the_page_on_gale_runs_as_it_stands(tmp_path, monkeypatch, capsys):
    """Its two annotations, and the figures it says of them."""
    page = (ROOT / "docs/guides/gale.md").read_text(encoding="utf-8")
    section = page.split("## Annotators: `agree`\n")[1].split("\n## ")[0]
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```annotation\n(.*?)```", section, re.S)
    for name, block in zip(("first.txt", "second.txt"), blocks, strict=True):
        (tmp_path / name).write_text(block)
    commands = re.findall(r"^nuggeteer (.*)$", section, re.M)
    assert len(commands) == 5
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n" * 9))
    for command in commands:
        assert main(shlex.split(command)) == 0
    total = json.loads((tmp_path / "agreement.json").read_text())["rows"][-1]
    assert f"from neither, here {total['relevance']['value']:.3f}" in section.replace("\n", " ")
    assert f"of what only one did, here {total['overlap']['value']:.3f}" in section.replace("\n", " ")
    assert capsys.readouterr().err == ""
