"""Table 1 of Babko-Malaya et al. 2010, queries that follow it, and tables of one's own."""

from __future__ import annotations

import pytest

from nuggeteer.errors import NuggeteerError
from nuggeteer.gale.templates import TYPES, find_template, read_templates

# Copied from the table, column by column: PER GPE ORG TITLE NUM EVT TMP LOC MOD STM.
TABLE = {
    "List facts about [Hurricane Katrina]": "....xxxxxx",
    "What [people] are involved in [the summit]?": "xxxx......",
    "Provide information on [Jack Straw].": "...xxxxxxx",
    "Find statements made by [Tariq Aziz] on [inspections]": "......xxxx",
    "Describe the relationship of [Mitt Romney] TO [Thomas Finneran] .": ".....xxx..",
    "How did [Iran] react to [the vote]?": "....xxxxxx",
    "Find acquaintances of [George W. Bush]?": "x.........",
    "FIND PEOPLE WHO VISITED [New Delhi].": "x.........",
    "List locations of representatives of [Hamas]": ".......x..",
    "Describe a meeting or contact between [Ariel Sharon] and [Ben-Ami]": ".....xxxxx",
    "Where has [Chen Yunlin] been and when?": "......xx..",
    "Which sources made statements on [the war]?": "xxxx......",
}
# Queries that the three papers quote without types: those of the most similar row.
QUOTED = {
    "DESCRIBE THE ACTIONS OF [Kofi Annan] DURING [May 2005] TO [July 2005]": "....xxxxxx",  # 2008, §2; 2010, §2
    "LIST FACTS ABOUT EVENT [The Hamas victory in Palestinian parliamentary elections]": "....xxxxxx",  # 2008, §3.2.1
    "Provide information about [EVENT]": "....xxxxxx",  # White et al. 2008, §2
    "Give a biography of [X]": "...xxxxxxx",  # White et al. 2008, §2
    "How are [Joan] and [Bill] related to each other?": ".....xxx..",  # White et al. 2008, table 1
    "Where is [Joan]?": ".......x..",  # White et al. 2008, table 2
    "PROVIDE INFORMATION ON [the Egyptian Islamic Jihad]": "...xxxxxxx",  # 2008, §4
    "DESCRIBE THE RELATIONSHIP BETWEEN [Mitt Romney] AND [Thomas Finneran]": ".....xxx..",  # 2008, §3.2.1
    "FIND STATEMENTS MADE BY OR ATTRIBUTED TO [person] ON [topic(s)]": "......xxxx",  # 2008, §2
}


@pytest.mark.parametrize(("query", "row"), {**TABLE, **QUOTED}.items())
def test_a_query_has_the_types_of_its_row(query, row):
    template = find_template(query, read_templates())
    assert template.types == {kind for kind, mark in zip(TYPES, row, strict=True) if mark == "x"}


def test_there_are_seventeen_templates_twelve_of_them_the_tables():
    templates = read_templates()
    assert len(templates) == 17  # as many as 2008, §2 has
    assert len({find_template(query, templates).name for query in TABLE}) == len(TABLE) == 12
    assert {find_template(query, templates).name for query in {**TABLE, **QUOTED}} == set(templates)
    assert {name: set(t.once) for name, t in templates.items() if t.once} == {
        "statements": {"STM"},
        "relationship": {"EVT"},
        "related": {"EVT"},
    }


def test_what_the_query_says_is_known_in_full_or_in_part_and_nothing_else():
    template = find_template("find acquaintances of [George W. Bush]", read_templates())
    assert template.arguments == ("George W. Bush",)
    assert template.known("Bush")
    assert template.known("george w. bush")
    assert not template.known("Laura Bush")
    assert not read_templates()["acquaintances"].known("Bush")


@pytest.mark.parametrize("query", ["nonsense", "Find acquaintances of", "Find [acquaintances] of [Bush]", "[Bush]", ""])
def test_a_query_without_a_template_is_refused_with_the_names(query):
    with pytest.raises(NuggeteerError, match="facts, involved, person"):
        find_template(query, read_templates())


OWN = """
[[template]]
name = "biography"
query = "Give a biography of [PER]"
types = ["EVT", "TMP"]
once = ["TMP"]

[[template]]
name = "facts"
query = "List facts about [EVT]"
types = ["NUM"]
"""


def test_templates_of_ones_own_come_before_the_papers(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    templates = read_templates(path)
    assert find_template("GIVE A BIOGRAPHY OF [Ada Lovelace]", templates).once == {"TMP"}
    assert find_template("list facts about [a flood]", templates).types == {"NUM"}
    assert set(read_templates()) == set(templates)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[template]", "not TOML"),
        ("", "no list of templates"),
        ("template = 1", "no list of templates"),
        (OWN + "x = 1", "unknown key 'x'"),
        (OWN.replace('"biography"', '""'), "without a name"),
        (OWN.replace('"biography"', '"facts"'), "'facts': the name occurs twice"),
        (OWN.replace("query", "ask"), "unknown key 'ask'"),
        (OWN.replace('query = "Give a biography of [PER]"', ""), "no query"),
        (OWN.replace('"EVT", "TMP"', '"EVENT"'), "not a list of types"),
        (OWN.replace('types = ["EVT", "TMP"]', ""), "not a list of types"),
        (OWN.replace('once = ["TMP"]', 'once = "TMP"'), "not a list of types"),
        (OWN.replace('once = ["TMP"]', "also = 1"), "not a list of queries"),
    ],
)
def test_a_wrong_table_is_refused_with_its_place(tmp_path, text, says):
    path = tmp_path / "own.toml"
    path.write_text(text)
    with pytest.raises(NuggeteerError, match=says) as error:
        read_templates(path)
    assert str(path) in str(error.value)


def test_a_table_that_cannot_be_read_is_said(tmp_path):
    with pytest.raises(NuggeteerError, match="cannot be read"):
        read_templates(tmp_path / "missing.toml")
