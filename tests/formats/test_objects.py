"""Objects of a file are the same whatever holds them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuggeteer.errors import InputError
from nuggeteer.formats import objects
from nuggeteer.formats.bundle import Bundle
from nuggeteer.formats.objects import as_table, open_file, read_objects, read_whole

ROWS = [{"qid": "1", "text": "one, two"}, {"qid": "2", "text": 'a "b"\nc; d'}]


def table(rows, delimiter=","):
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


FORMS = {
    "lines": "".join(json.dumps(row) + "\n" for row in ROWS).encode(),
    "list": json.dumps(ROWS).encode(),
    "pretty list": json.dumps(ROWS, indent=2).encode(),
    "commas": table(ROWS),
    "semicolons": table(ROWS, ";"),
    "tabs": table(ROWS, "\t"),
    "within": json.dumps({"a": 1, "results": {"rows": ROWS}}, indent=1).encode(),
    "within, on a line": json.dumps({"results": {"rows": ROWS}}).encode(),
    "mark": b"\xef\xbb\xbf" + table(ROWS),
    "blank lines": b"\n \r\n" + table(ROWS),
}


def read(path, **more):
    bundle = Bundle()
    return [one for _, one, _ in read_objects(path, bundle, ("qid",), ("results", "rows"), **more)], bundle


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "packed"])
def test_objects_are_the_same_whatever_holds_them(tmp_path, form, pack):
    path = tmp_path / "file"
    path.write_bytes(pack(FORMS[form]))
    found, bundle = read(path)
    assert found == ROWS
    assert not bundle.garbled
    if form not in ("within", "within, on a line"):
        assert open_file(path).objects == ROWS


# A quote before a formula is the mark that spreadsheets have for a text, and is taken off.
MARKED = re.compile(r"(?:\A|[,;\t])'+[=+@\t\r\n＝＋＠－-]")
CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20).filter(
    lambda cell: not MARKED.search(cell)
)


@given(st.lists(st.fixed_dictionaries({"a": CELLS, "b": CELLS}), min_size=1, max_size=5), st.sampled_from(",;\t"))
def test_cells_of_a_table_come_back(tmp_path_factory, rows, delimiter):
    path = tmp_path_factory.mktemp("t") / "t.csv"
    path.write_bytes(table(rows, delimiter))
    expected = [kept for row in rows if (kept := {key: cell for key, cell in row.items() if cell.strip()})]
    assert read(path)[0] == expected


def as_a_spreadsheet(text, delimiter):
    """The cells of a table, as a spreadsheet reads it: a row ends at a line feed and at a carriage return."""
    cells, quoted = [""], False
    for place, char in enumerate(text):
        if char == '"':
            quoted = not quoted
            cells[-1] += char if quoted and text[place - 1 : place] == '"' else ""
        elif not quoted and char in (delimiter, "\n", "\r"):
            cells.append("")
        else:
            cells[-1] += char
    return cells


FORMULAS = st.text("=+-@＝＋－＠'\"\r\n\t ok1,;", max_size=8)


@given(st.lists(st.dictionaries(FORMULAS, FORMULAS, min_size=2), min_size=1, max_size=4), st.sampled_from(",;\t"))
def test_no_cell_of_a_table_is_a_formula_to_a_spreadsheet(rows, delimiter):
    text = as_table(rows, delimiter).decode()
    assert [cell for cell in as_a_spreadsheet(text, delimiter) if cell[:1] in tuple("=+-@＝＋－＠\t\r\n")] == []


@given(st.lists(st.dictionaries(FORMULAS, FORMULAS, min_size=2), min_size=1, max_size=4))
def test_no_text_begins_a_formula_where_a_spreadsheet_has_another_delimiter(rows):
    """It takes a semicolon or a tab behind a quotation for the end of a cell."""
    text = as_table(rows, ",").decode()
    assert re.findall(r"[;\t][=+@＝＋＠－-]", text) == []
    assert all(line.startswith('"') for line in re.split(r'(?<=")\n(?=")', text))


def test_a_table_is_read_as_it_was_written(tmp_path):
    rows = [{"a": "x;=1+1", "b": "'-y,+2"}, {"a": "=;'=1", "b": "(3,-4)\t@"}]
    (tmp_path / "x.csv").write_bytes(as_table(rows, ","))
    assert read(tmp_path / "x.csv")[0] == rows


def test_a_carriage_return_begins_no_row():
    assert as_table([{"a": "ok\r=1+1", "b": "＝1"}], ",") == b'"a","b"\n"ok\r=1+1","\'\xef\xbc\x9d1"\n'


def test_what_is_no_object_is_kept_aside_with_its_place(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps([{"qid": 1}, 7], indent=1))
    found, bundle = read(path)
    assert found == [{"qid": 1}]
    assert bundle.garbled == ["7"]
    assert str(bundle.problems[0]).startswith(f"{path}: object 2: not an object")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b'[{"a": 1},', "not JSON"),
        (b'{\n"a": 1', "not JSON"),
        (b'a,b\n1,"2', "not CSV"),
        (b"a,a\n1,2\n", "occurs twice"),
        (b"a,b\n\xff,2\n", "is not UTF-8"),
        (b"[]", "no object and no row"),
        (b"a,b\n", "no object and no row"),
        (gzip.compress(b'[{"a": 1}]', mtime=0)[:-9], "damaged"),
    ],
)
def test_what_is_wrong_with_a_file_is_among_its_problems(tmp_path, content, what):
    path = tmp_path / "file"
    path.write_bytes(content)
    bundle = Bundle()
    assert not list(read_objects(path, bundle))
    assert what in str(bundle.problems[0])


def test_a_file_that_unpacks_to_far_too_much_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "bomb.json.gz"
    monkeypatch.setattr(objects, "UNPACKED", 1000)
    path.write_bytes(gzip.compress(b"[" + b" " * 1_000_000))
    with pytest.raises(InputError, match="unpacks to more than"):
        read_whole(path)


def test_a_file_that_is_too_large_for_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(objects, "LARGEST", 1000)
    path = tmp_path / "large.json"
    path.write_bytes(b'[{"a": "' + b" " * 1000)
    with pytest.raises(InputError, match="has more than 1,000 bytes"):
        read_whole(path)


def test_a_line_that_goes_wrong_in_long_lines_is_told_with_its_number(tmp_path):
    """Lines that are longer than what is looked at first."""
    path = tmp_path / "x.jsonl"
    long = json.dumps({"qid": "1", "text": "x" * 2 * objects.HEAD})
    path.write_text(f"{long}\n{long}\n{{oops\n")
    found, bundle = read(path)
    assert len(found) == 2
    assert bundle.problems[0].line == 3
