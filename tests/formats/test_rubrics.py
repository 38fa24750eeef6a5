"""Rubrics of weighted criteria, and the score that their authors compute from them."""

from __future__ import annotations

import json
import random

import pytest

from nuggeteer.collection.convert import convert_into, convert_out
from nuggeteer.collection.folder import read_collection
from nuggeteer.formats.bundle import read_bundle
from nuggeteer.formats.objects import open_file
from nuggeteer.formats.rubrics import read_rubrics, recognises
from nuggeteer.scoring.scorer import score
from tests.conftest import write_lines

# As researchrubrics describes processed_data.jsonl.
TASK = {
    "prompt": "Compare the tunnels.",
    "sample_id": "683a58c9",
    "domain": "Engineering",
    "conceptual_breadth": "Moderate",
    "rubrics": [
        {"criterion": "Names the longest tunnel", "weight": 4.0, "axis": "Explicit Criteria"},
        {"criterion": "Gives a cost for each", "weight": 2.5, "axis": "Explicit Criteria"},
        {"criterion": "Claims that one is under a sea", "weight": -3.0, "axis": "Implicit Criteria"},
        {"criterion": "Is polite", "weight": 1.0},
    ],
}


def test_a_criterion_is_a_nugget_with_its_points(tmp_path):
    path = write_lines(tmp_path / "r.jsonl", [TASK])
    assert recognises(open_file(path))
    bundle = read_rubrics(path)
    assert bundle.questions["683a58c9"].text == "Compare the tunnels."
    assert [(n.nugget, n.descriptions[0], n.importance, n.weight, n.tags) for n in bundle.nuggets] == [
        ("1", "Names the longest tunnel", "vital", 4.0, ("Explicit Criteria",)),
        ("2", "Gives a cost for each", "vital", 2.5, ("Explicit Criteria",)),
        ("3", "Claims that one is under a sea", "forbidden", -3.0, ("Implicit Criteria",)),
        ("4", "Is polite", "vital", 1.0, ()),
    ]
    assert bundle.unused == {"domain": 1, "conceptual_breadth": 1}
    assert not bundle.problems


def test_rubrics_come_back_object_for_object(tmp_path):
    older = {
        "sample_id": "b",
        "prompt": "Why?",
        "rubrics": [{"title": "Cites a source", "weight": 0.5, "category": "References", "row_index": 3}],
    }
    source = write_lines(tmp_path / "r.jsonl", [TASK, older])
    convert_into("rubrics", [source], tmp_path / "c")
    convert_out("rubrics", tmp_path / "c", tmp_path / "out.jsonl")
    first, second = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert first == TASK
    (criterion,) = older["rubrics"]
    assert second == {**older, "rubrics": [criterion]}


@pytest.mark.parametrize("seed", range(5))
def test_the_measure_rubric_is_the_authors_compliance_score(tmp_path, seed):
    """Their formula: the sum of score times weight over all criteria, by the sum of the positive weights."""
    random.seed(seed)
    tasks = [
        {
            "sample_id": f"t{task}",
            "prompt": f"Question {task}?",
            "rubrics": [
                {"criterion": f"states fact {task} {place}", "weight": random.choice([-5.0, -2.0, 1.0, 3.0, 5.0])}
                for place in range(5)
            ]
            + [{"criterion": f"states fact {task} five", "weight": 2.0}],
        }
        for task in range(4)
    ]
    convert_into("rubrics", [write_lines(tmp_path / "r.jsonl", tasks)], tmp_path / "c")
    verdicts, expected = [], {}
    for task in tasks:
        scores = [random.random() < 0.5 for _ in task["rubrics"]]
        weights = [rubric["weight"] for rubric in task["rubrics"]]
        total = sum(w * s for w, s in zip(weights, scores, strict=True))
        expected[task["sample_id"]] = total / sum(weight for weight in weights if weight > 0)
        for place, found in enumerate(scores, 1):
            verdicts.append({"qid": task["sample_id"], "nugget": str(place), "text": "An answer.", "verdict": found})
    write_lines(
        tmp_path / "c" / "runs" / "a.jsonl", [{"qid": task["sample_id"], "text": "An answer."} for task in tasks]
    )
    write_lines(tmp_path / "c" / "judgements" / "a.jsonl", verdicts)
    collection = read_collection(tmp_path / "c")
    by_question = score(collection, ["a"], ["rubric"])["a"].by_question["rubric"]
    got = {qid: float(by_question[place]) for qid, place in collection.key.position.items()}
    assert got == pytest.approx(expected)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ({**TASK, "sample_id": " x"}, "no sample_id"),
        ({**TASK, "prompt": 3}, "no sample_id, no prompt"),
        ({**TASK, "rubrics": []}, "no list of rubrics"),
        ({**TASK, "rubrics": [{"criterion": "a", "weight": "4"}]}, "criterion 1 of 683a58c9 is '4'"),
        ({**TASK, "rubrics": [{"weight": 4}]}, "criterion 1 of 683a58c9 has no text"),
    ],
)
def test_what_is_wrong_is_kept_aside(tmp_path, line, what):
    bundle = read_rubrics(write_lines(tmp_path / "r.jsonl", [line]))
    assert len(bundle.garbled) == 1
    assert what in bundle.problems[0].what


def test_a_list_in_a_cell_of_a_table_is_read(tmp_path):
    path = tmp_path / "r.csv"
    cell = json.dumps(TASK["rubrics"]).replace('"', '""')
    path.write_text(f'sample_id,prompt,rubrics\n7,Why?,"{cell}"\n')
    assert recognises(open_file(path))
    assert len(read_rubrics(path).nuggets) == 4


def test_a_key_without_weights_is_written_with_those_that_it_means(tmp_path):
    convert_into("rubrics", [write_lines(tmp_path / "r.jsonl", [TASK])], tmp_path / "c")
    write_lines(
        tmp_path / "c" / "nuggets.jsonl",
        [{"qid": "683a58c9", "nugget": str(i), "text": "a", "importance": x} for i, x in enumerate(["vital", "okay"])],
    )
    assert len(read_bundle(tmp_path / "c").nuggets) == 2
    convert_out("rubrics", tmp_path / "c", tmp_path / "out.jsonl")
    (line,) = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert [criterion["weight"] for criterion in line["rubrics"]] == [1.0, 0.0]
