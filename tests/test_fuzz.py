"""Whatever stands in a collection's files, it is read or refused: no other error, no score from an error."""

from __future__ import annotations

import json
import math
import shutil

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from nuggeteer.collection.checking import check
from nuggeteer.collection.folder import read_collection
from nuggeteer.errors import NuggeteerError
from nuggeteer.scoring.scorer import score

TOML = b"""[match]
n = 2
stem = false
weights = "idf"
stopwords = "keep"
idf = "words.idf"
[threshold]
value = 0.4
"""


def lines(*records):
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


FILES = {
    "questions.jsonl": lines(
        {"qid": "q1", "text": "Who was Fermi?", "kind": "definition", "target": "Fermi"},
        {"qid": "q2", "text": "What sank?"},
    ),
    "nuggets.jsonl": lines(
        {"qid": "q1", "nugget": "1", "text": "built a reactor", "importance": "vital", "votes": {"a": "vital"}},
        {
            "qid": "q1",
            "nugget": "2",
            "descriptions": ["born in Rome", "Röman"],
            "importance": "okay",
            "votes": {"a": "okay"},
        },
        {"qid": "q2", "nugget": "1", "text": "sank in 1912", "importance": "vital", "weight": 0.5, "tags": ["t"]},
    ),
    "runs.jsonl": lines({"run": "x", "group": "g", "judged": "every", "official": {"f3": 0.2}}, {"run": "y"}),
    "runs/x.jsonl": lines(
        {"qid": "q1", "text": "He built a reactor.", "docid": "D1", "rank": 1},
        {"qid": "q1", "text": "Born in Rome – 1901", "docid": "D2", "rank": 2},
        {"qid": "q2", "text": "It sank."},
    ),
    "runs/y.jsonl": lines({"qid": "q2", "text": "In 1912 it sank."}, {"qid": "q1", "text": "?!5"}),
    "judgements/x.jsonl": lines(
        {"qid": "q1", "nugget": "1", "text": "He built a reactor.", "verdict": True, "run": "x", "assessor": "a"},
        {"qid": "q2", "nugget": "1", "text": "It sank.", "verdict": False, "partial": True, "span": [0, 3]},
    ),
    "nuggeteer.toml": TOML,
    "words.idf": b"# nuggeteer idf 1; documents: 9\nborn\t2\nreactor\t3\nrome\t1\n",
}

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.sampled_from(["q1", "q2", "1", "2", "vital", "okay", "unrated", "every", "best", "x", "", 1e308, 2**64]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
pieces = st.binary(max_size=6) | st.sampled_from(
    [
        *rb'" { } [ ] , : - . NaN null true 1e999 \ud800 \u0000 "qid" = #'.split(),
        *(b"\n", b"\n\n", b"\r\n", b"\t", b"\x00", b"\xff", b"\xef\xbb\xbf", b"[" * 2000, b"9" * 5000),
    ]
)


@st.composite
def torn(draw, content):
    """Valid bytes with pieces cut out, put in, moved and doubled."""
    for _ in range(draw(st.integers(1, 4))):
        begin = draw(st.integers(0, len(content)))
        end = draw(st.integers(begin, min(len(content), begin + 30)))
        middle = draw(st.just(b"") | pieces | st.just(content[begin:end] * 2))
        content = content[:begin] + middle + content[end:]
    return content


@st.composite
def ill_typed(draw, content):
    """JSON Lines, some of whose values and keys are something else; Python also writes NaN and the like."""
    records = [json.loads(line) for line in content.splitlines()]
    for _ in range(draw(st.integers(1, 3))):
        record = draw(st.sampled_from(records))
        key = draw(st.sampled_from([*record, "weight", "votes", "rank", "official", "unknown", ""]))
        if draw(st.booleans()) or key not in record:
            record[key] = draw(json_values)
        else:
            del record[key]
    chosen = draw(st.lists(st.sampled_from(records), max_size=5)) if draw(st.booleans()) else records
    return "".join(json.dumps(record) + "\n" for record in chosen).encode()


@st.composite
def toml(draw):
    """Settings that are TOML, with values of any kind."""
    values = st.sampled_from(
        [
            *[
                "1",
                "2",
                "3",
                "0.5",
                "true",
                "nan",
                "-inf",
                "1e400",
                "[]",
                "{}",
                "1979-05-27",
                '"idf"',
                '"unit"',
                '"remove"',
                '"pool"',
                '"words.idf"',
                '"."',
                '""',
            ],
            *('"\\u0000"', '"' + "x" * 300 + '"', "0x" + "f" * 5000),
        ]
    )
    keys = ["n", "stem", "weights", "stopwords", "idf", "value", "x", '"\\u001b"']
    body = [f"{draw(st.sampled_from(keys))} = {draw(values)}" for _ in range(draw(st.integers(0, 3)))]
    section = draw(st.sampled_from(["[match]", "[threshold]", "[[match]]", "[match.n]", "[__init__]", ""]))
    return "\n".join([section, *body]).encode()


def contents(file):
    options = [torn(FILES[file]), st.binary(max_size=60)]
    if file.endswith(".jsonl"):
        options += [ill_typed(FILES[file])] * 2
    if file.endswith(".toml"):
        options += [toml()] * 2
    return st.one_of(options)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "collection"


def fill(root, changed):
    shutil.rmtree(root, ignore_errors=True)
    for file, content in {**FILES, **changed}.items():
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def use(root):
    """Read and score everything, also runs that answer nothing. Whether that could be done; all scores are scores."""
    try:
        collection = read_collection(root, allow_empty=True)
        result = score(collection, collection.run_names)
    except NuggeteerError:
        return False
    for run in result.runs:
        for values in run.by_question.values():
            assert all(math.isnan(value) or 0 <= value <= 1 for value in values)
    return True


def refusal(root):
    """Why a run is refused where runs may not be empty; "" if none is."""
    try:
        read_collection(root).loaded(None)
    except NuggeteerError as error:
        return str(error)
    return ""


def check_and_use(root):
    """What `check` calls an error is exactly what stops scoring, and it warns where that needs --allow-empty."""
    problems = check(root)
    assert all(p.what and p.remedy and p.line != 0 for p in problems)
    usable = use(root)
    assert usable == all(p.severity != "error" for p in problems), [str(p) for p in problems]
    if usable:
        why, warned = refusal(root), any("--allow-empty" in p.remedy for p in problems)
        assert ("answers no question of the key" in why) == bool(why) == warned, [why, *map(str, problems)]
    event(f"usable: {usable}, problems: {bool(problems)}")


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_any_bytes_in_any_file_are_read_or_refused(root, file):
    @settings(max_examples=50)
    @given(content=contents(file))
    def run(content):
        fill(root, {file: content})
        check_and_use(root)

    run()


@pytest.mark.slow
@settings(max_examples=60)
@given(data=st.data())
def test_any_bytes_in_several_files_at_once_are_read_or_refused(root, data):
    files = data.draw(st.lists(st.sampled_from(sorted(FILES)), min_size=2, max_size=4, unique=True))
    fill(root, {file: data.draw(contents(file)) for file in files})
    check_and_use(root)


@pytest.mark.slow
@settings(max_examples=40)
@given(absent=st.sets(st.sampled_from(sorted(FILES))), names=st.lists(st.text(max_size=8), max_size=2))
def test_any_files_missing_and_any_others_present_are_read_or_refused(root, absent, names):
    fill(root, {})
    for file in absent:
        (root / file).unlink()
    for name in names:
        if "/" not in name and "\0" not in name and name.isprintable():
            (root / "runs" / f"{name}.jsonl").write_bytes(FILES["runs/y.jsonl"])
    if "nuggets.jsonl" in absent:
        for function in (check, read_collection):
            with pytest.raises(NuggeteerError):
                function(root)
    else:
        check_and_use(root)


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_a_run_without_any_answer_is_a_warning_of_check_and_refused(root, text):
    """Whether its file is empty or its texts are."""
    answers = [] if text is None else [{"qid": "q1", "text": text}, {"qid": "q2", "text": text}]
    fill(root, {"runs/y.jsonl": lines(*answers)})
    assert [p.severity for p in check(root) if "--allow-empty" in p.remedy] == ["warning"]
    assert use(root)
    assert "answers no question of the key" in refusal(root)


def test_the_files_are_good_before_they_are_torn(root):
    """Otherwise the tests above would test little."""
    fill(root, {})
    assert check(root) == []
    assert use(root)
    assert refusal(root) == ""
