"""nuggeteer.toml: what it may say, and that no misspelling changes a score in silence."""

from __future__ import annotations

import json
import tomllib
from dataclasses import fields

import pytest

from nuggeteer.errors import InputError, NuggeteerError
from nuggeteer.formats.toml_settings import SECTIONS, read_settings
from nuggeteer.settings import JudgeSettings, Match, Settings, Threshold
from tests.conftest import ROOT

JUDGE = "[judge.j]\nurl = 'http://127.0.0.1'\nmodel = 'm'\n"


def read(tmp_path, content):
    path = tmp_path / "nuggeteer.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_settings(path)


def problems(tmp_path, content):
    with pytest.raises(InputError) as caught:
        read(tmp_path, content)
    assert {p.file for p in caught.value.problems} == {str(tmp_path / "nuggeteer.toml")}
    assert all(p.remedy for p in caught.value.problems)
    return [(p.line, p.what) for p in caught.value.problems]


@pytest.mark.parametrize("content", ["", "[match]\n", "# nothing\n", "\ufeff[threshold]\n"])
def test_what_is_not_said_has_its_default(tmp_path, content):
    assert read(tmp_path, content) == Settings()


def test_what_is_set_is_read(tmp_path):
    said = {"n": 3, "stem": True, "weights": "unit", "stopwords": "remove", "idf": "pool", "matcher": "rouge"}
    said |= {"informative": "responses", "rouge": "rougeL"}
    lines = [f"{name} = {json.dumps(value)}" for name, value in said.items()]
    toml = "\n".join(["[match]", *lines, "[threshold]", 'model = "fixed"', "value = 0.25"])
    assert read(tmp_path, toml) == Settings(Match(**said), Threshold(model="fixed", value=0.25))


def test_a_table_of_weights_lies_where_the_collection_says(tmp_path):
    assert read(tmp_path, '[match]\nidf = "x.idf"').match.table == tmp_path / "x.idf"
    assert read(tmp_path, f'[match]\nidf = "{tmp_path}/y.idf"').match.table == tmp_path / "y.idf"
    assert read(tmp_path, '[match]\nidf = "x.idf"\nweights = "unit"').match.table is None
    assert read(tmp_path, '[match]\nidf = "pool"').match.table is None


def test_reports_of_a_night_lie_where_the_collection_says(tmp_path):
    settings = read(tmp_path, f'[nightly]\njunit = "out/gates.xml"\npage = "{tmp_path}/page.html"').nightly
    assert settings.junit == str(tmp_path / "out" / "gates.xml")
    assert (settings.page, settings.markdown) == (str(tmp_path / "page.html"), "")


def test_scores_of_others_lie_where_the_collection_says(tmp_path):
    assert read(tmp_path, '[match]\nexternal = "judge.jsonl"').match.external == str(tmp_path / "judge.jsonl")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("[matches]\nn = 1", "unknown section 'matches'"),
        ("match = 3", "unknown section 'match'"),
        ("n = 3", "unknown section 'n'"),
        ("[__class__]\nn = 1", "unknown section '__class__'"),
        ("[__doc__]", "unknown section '__doc__'"),
        ("[match]\nN = 1", "unknown setting [match] N"),
        ("[threshold]\nn = 1", "unknown setting [threshold] n"),
        ("[match]\ntable = 'x'", "unknown setting [match] table"),
        ("[match]\nn = 0", "[match] n is 0"),
        ("[match]\nn = true", "[match] n is True"),
        ("[match]\nn = 0x" + "f" * 5000, "[match] n is a very long number"),
        ("[match]\nstem = 1", "[match] stem is 1"),
        ("[match]\nmatcher = 'ngrams'", "[match] matcher is 'ngrams'"),
        ("[match]\nweights = 'IDF'", "[match] weights is 'IDF'"),
        ("[score]\ninterval = 'bca'", "[score] interval is 'bca'"),
        ("[nightly]\nfail_if_worse = -0.1", "[nightly] fail_if_worse is -0.1"),
        ("[nightly]\nmax_lost_vital = -1", "[nightly] max_lost_vital is -1"),
        ("[nightly]\nmax_lost_vital = 'all'", "[nightly] max_lost_vital is 'all'"),
        ("[nightly]\nsure = 0.4", "[nightly] sure is 0.4"),
        ("[nightly]\nundecided = 2", "[nightly] undecided is 2"),
        ("[threshold]\nvalue = 1.01", "[threshold] value is 1.01"),
        ("[threshold]\nvalue = nan", "[threshold] value is nan"),
        ("judge = 3", "unknown section 'judge'"),
        ("[judge]\nj = 3", "[judge] j is 3"),
        ("[judge.j]\nmodel = 'm'", "[judge.j] has no url"),
        ("[judge.j]\nurl = 'http://127.0.0.1'\nmodel = ''", "[judge.j] has no model"),
        (JUDGE + "key = 'secret'", "unknown setting [judge.j] key"),
        (JUDGE + "concurrency = 0", "[judge.j] concurrency is 0"),
        (JUDGE + "input_price = -1", "[judge.j] input_price is -1"),
        (JUDGE + "output_price = nan", "[judge.j] output_price is nan"),
        (JUDGE + "prompt = '../mine.txt'", "[judge.j] prompt leads out of this folder"),
    ],
)
def test_what_cannot_be_is_refused_with_the_value(tmp_path, content, what):
    ((line, said),) = problems(tmp_path, content)
    assert said == what
    header = what.split("]")[0].removeprefix("unknown setting ").removeprefix("[")
    lines = content.splitlines()
    if f"[{header}]" in lines:  # the setting stands in the section, and nothing else does
        assert line is not None
        assert line > lines.index(f"[{header}]")


@pytest.mark.parametrize(
    ("content", "line", "what"),
    [
        ("[match]\nn = = 1", 2, "not TOML"),
        ("[match]\n[match]", 2, "not TOML"),
        ("[match]\nn = 1\nn = 2\nstem = true", 3, "not TOML"),
        (b"# \xe9\n", 1, "is not UTF-8"),
        (b"[match]\n# \xff", 2, "is not UTF-8"),
        ("x = " + "9" * 5000, None, "not TOML"),
        ("x = " + "[" * 5000, None, "not TOML"),
    ],
)
def test_what_is_not_toml_is_refused_at_its_line(tmp_path, content, line, what):
    ((found, says),) = problems(tmp_path, content)
    assert found == line
    assert says.startswith(what)


def test_all_that_is_wrong_is_listed(tmp_path):
    content = "[match]\nn = 9\nstem = 'no'\nwight = 1\n[treshold]\n[threshold]\nvalue = 2"
    assert len(problems(tmp_path, content)) == 5


def test_a_folder_in_its_place_is_refused(tmp_path):
    (tmp_path / "nuggeteer.toml").mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        read_settings(tmp_path / "nuggeteer.toml")


def test_the_documented_file_is_valid_names_every_setting_and_shows_the_defaults(tmp_path):
    page = (ROOT / "docs" / "reference" / "files.md").read_text(encoding="utf-8")
    example = page.partition("### Settings")[2].partition("```toml\n")[2].partition("```")[0]
    table = tomllib.loads(example)
    declared = {name: {field.name for field in fields(kind)} for name, kind in SECTIONS.items()}
    assert {name: set(section) for name, section in table.items()} == {**declared, "judge": {"example"}}
    assert set(table["judge"]["example"]) == {field.name for field in fields(JudgeSettings)} - {"name"}
    judge = JudgeSettings("example", "http://127.0.0.1:8080/v1", "example")
    assert read(tmp_path, example) == Settings(judges=(judge,))


def test_a_judge_is_found_by_its_name_and_prices_may_be_whole_numbers(tmp_path):
    settings = read(tmp_path, JUDGE + "input_price = 3\nprompt = 'mine.txt'")
    judge = settings.judge("j")
    assert (judge.name, judge.model, judge.input_price) == ("j", "m", 3.0)
    assert judge.prompt == str(tmp_path / "mine.txt")
    with pytest.raises(NuggeteerError, match=r"no section \[judge.k\]; the judges are: j"):
        settings.judge("k")
