"""The recorded page on 160 annotated sentences says what the nuggetizer finds today; matches counted otherwise."""

from __future__ import annotations

import json
from importlib.util import module_from_spec, spec_from_file_location
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuggeteer.cli.main import main
from nuggeteer.formats.annotation import Extent
from nuggeteer.gale.automatic import by_type
from tests.conftest import ROOT


@pytest.mark.slow
def test_the_recorded_page_is_what_comes_out_today(nuggetizer):
    """If not: python experiments/nugget_corpus.py, and read what became worse."""
    path = ROOT / "experiments" / "nugget_corpus.py"
    spec = spec_from_file_location("nugget_corpus", path)
    experiment = module_from_spec(spec)
    spec.loader.exec_module(experiment)
    if not nuggetizer.name.endswith("3.6.0"):
        pytest.skip("recorded with en_core_web_sm 3.6.0")
    assert experiment.page(nuggetizer) == path.with_name("nugget-corpus.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_precision_and_recall_are_those_of_the_command_counted_by_hand(nuggetizer, tmp_path, capsys):
    """One nugget with other boundaries, one of another type, one missed."""
    path = tmp_path / "corrected.txt"
    path.write_text(
        "Snippet 1: Chen Yunlin visited Taiwan in January\n"
        "Nugget: Chen Yunlin visited [[Taiwan]]-LOC [[in January]]-MOD\n"
        "Nugget (EVT): [[Chen Yunlin visited Taiwan in January]]\n"
    )
    assert main(["nuggetize", "--corrected", str(path), "--model", "en_core_web_sm", "--json", "-"]) == 0
    types = {one["type"]: one for one in json.loads(capsys.readouterr().out)["types"]}
    assert (types["LOC"]["exact"], types["LOC"]["near"]) == (1, 0)
    assert (types["EVT"]["exact"], types["EVT"]["near"]) == (0, 1)
    assert (types["MOD"]["automatic"], types["TMP"]["corrected"]) == (0, 0)
    assert types[None]["precision"] == 1 / types[None]["automatic"]
    assert types[None]["near_recall"] == 2 / 3


@st.composite
def sides(draw):
    cut = st.tuples(st.integers(0, 8), st.integers(1, 4)).map(lambda at: ((at[0], min(9, at[0] + at[1])),))
    extents = st.lists(cut.map(Extent), max_size=4).map(tuple)
    return draw(extents), draw(extents)


@given(sides())
def test_each_nugget_is_matched_once_and_the_same_ones_first(pair):
    """Against all ways to pair them: no more are matched than the best way matches, and all equal ones are."""
    text, (right, found) = "abcdefghi", pair
    row = by_type([(text, right, found)])[-1]
    left = [one.spans for one in found]
    equal = sum(left.remove(one.spans) is None for one in right if one.spans in left)
    assert row.exact == equal

    def shares(a, b):
        own, other = (set(range(*one.spans[0])) for one in (a, b))
        return bool(own & other) and len(own & other) >= max(len(own), len(other)) / 2

    few, many = sorted((right, found), key=len)
    best = max((sum(map(shares, few, way)) for way in permutations(many, len(few))), default=0)
    assert row.exact + row.near <= best
    assert by_type([(text, right, right)])[-1].exact == len(right)
