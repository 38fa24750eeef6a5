"""Hostile lines: every reader of texts needs time in proportion to their length, and raises only our errors."""

from __future__ import annotations

import random
import re
from contextlib import suppress
from functools import partial
from itertools import count

import pytest

from nuggeteer.asking.replies import WrongShape, read_labels
from nuggeteer.collection.foreign import FORMATS
from nuggeteer.errors import NuggeteerError
from nuggeteer.formats import sentences
from nuggeteer.formats.annotation import Extent, Snippet
from nuggeteer.formats.annotation_files import read_snippets, write_snippets
from nuggeteer.formats.brat import read_brat
from nuggeteer.formats.spreadsheet import read_verdicts
from nuggeteer.formats.toml_settings import read_settings
from nuggeteer.gale.templates import find_template, read_templates
from nuggeteer.text import verdict_form, words
from tests.attack import readers as attacked
from tests.growth import grows_less_than

LINES = [
    (begin, repeated, end)
    for begin in (
        "",
        "Nugget",
        "Snippet",
        "Snippet a: ",
        "qid",
        "q1 1 vital ",
        "T1\tLOC 0 1",
        "qid,nugget,text,verdict\n",
    )
    for repeated, end in ((" ", "x"), ("a ", "("), ("1", "\t"), ("[[", "x"), ("a]]-LOC [[", "]"), ("(\\", ":"))
]
TEXTS = [
    "a\u0301\u0316",
    "\u0301\u0316",
    " [1",
    "*a",
    "(a",
    ". ",
    '."',
    "- ",
    "【",
    "``a",
    "1.",
    "> ",
    "|",
    "\u200b",
    "'",
    "<think>",
    '{"1":',
    ".",
    ".x",
    ".[1]",
    "\n- ",
    "\n| |",
    "\n```",
    "a.b",
    "[1](",
    "*a ",
    "—",
    "((",
    "_",
]
SIZE, TIMES = 4_000, 8
SQUARE = TIMES**2 / 2  # what needs the square of the length takes 64 times as long for 8 times the length


def from_file(read, suffix):
    def run(folder, text):
        path = folder / f"x{suffix}"
        if path.suffix == ".ann":
            path.with_suffix(".txt").write_text("some text")
        path.write_text(text)
        with suppress(NuggeteerError):
            read(path)

    return run


READERS = {
    **{name: from_file(format_.read, ".txt") for name, format_ in FORMATS.items()},
    **{suffix: from_file(lambda path: read_snippets(path, []), suffix) for suffix in (".txt", ".jsonl", ".ann")},
    "spreadsheet": from_file(lambda path: read_verdicts(path, []), ".csv"),
    "templates": from_file(read_templates, ".toml"),
    "settings": from_file(read_settings, ".toml"),
}


def labels(text):
    with suppress(WrongShape):
        read_labels(text, 3)


FUNCTIONS = {"read_labels": labels, "pieces": sentences.pieces, "verdict_form": verdict_form, "words": words}


def grows_like_its_length(run, begin, repeated, end):
    short, long = (begin + repeated * (size // len(repeated)) + end for size in (SIZE, SIZE * TIMES))
    return grows_less_than(SQUARE, lambda: run(short), lambda: run(long))


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_reader_needs_time_in_proportion(name, tmp_path):
    for begin, repeated, end in LINES:
        run = partial(READERS[name], tmp_path)
        assert grows_like_its_length(run, begin, repeated, end), (begin, repeated, end)


REPEATED = [" ", "\n", "a ", "1", '"', "(", "[[", "[1", "\\", "\t", "a\u0301\u0316", "{"]


def read_from(reader, path, content):
    path.write_bytes(content)
    with suppress(NuggeteerError):
        reader.read(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", attacked.READERS)
def test_every_reader_needs_time_in_proportion(name, tmp_path):
    """Those of the fuzzer, which no new reader escapes: something repeated at two places of a valid file."""
    rng = random.Random(name)
    for number, reader in enumerate(attacked.READERS[name]):
        path = tmp_path / str(number) / reader.name
        path.parent.mkdir(parents=True)
        if reader.around:
            reader.around(tmp_path / str(number))
        for repeated in (text.encode() for text in REPEATED):
            seed = rng.choice(reader.seeds)
            for at in (rng.randrange(len(seed)), seed.find(b'": "') + 4):
                short, long = (
                    seed[:at] + repeated * (size // len(repeated)) + seed[at:] for size in (SIZE, SIZE * TIMES)
                )
                runs = (partial(read_from, reader, path, content) for content in (short, long))
                assert grows_less_than(SQUARE, *runs), long[:99]


def annotation(suffix, content):
    """A reader of annotations of about `size` characters, with its companion if it has one."""

    def run(folder, size):
        path = folder / f"x{suffix}"
        for one, text in zip((path, path.with_suffix(".txt")), content(size), strict=False):
            one.write_text(text)
        with suppress(NuggeteerError):
            read_snippets(path, [])

    return run


def typed_brackets(n):
    return [f"Snippet a: {'a ' * n}\nNugget: {'[[a]]-LOC  ' * n}\n"]


def untyped_brackets(n):
    return [f"Snippet a: {'a ' * n}\nNugget: {'[[a]]  ' * n}\n"]


def offsets_of_everything(n):
    spans = ",".join([f'{{"spans": [[0, {4 * n}]]}}'] * n)
    return [f'{{"snippet": "a", "text": "{" " * 4 * n}x", "nuggets": [{spans}, {{"spans": [[0, {4 * n + 1}]]}}]}}']


def offsets_of_white_space(n):
    spans = ",".join([f'{{"spans": [[0, {4 * n + 1}]]}}'] * n)
    return [f'{{"snippet": "a", "text": "{" " * 4 * n}x", "nuggets": [{spans}]}}']


def standoff_of_one_word(n):
    return [f"T1\tLOC 0 {8 * n}\tx\n" * n, "x" * 8 * n]


def standoff_of_white_space(n):
    return [f"T1\tLOC 0 {8 * n + 1}\tx\n" * n, " " * 8 * n + "x"]


ANNOTATIONS = {
    typed_brackets: ".txt",
    untyped_brackets: ".txt",
    offsets_of_everything: ".jsonl",
    offsets_of_white_space: ".jsonl",
    standoff_of_one_word: ".ann",
    standoff_of_white_space: ".ann",
}


@pytest.mark.slow
@pytest.mark.parametrize("content", ANNOTATIONS, ids=lambda content: content.__name__)
def test_many_nuggets_in_one_text_need_time_in_proportion(content, tmp_path):
    run = partial(annotation(ANNOTATIONS[content], content), tmp_path)
    assert grows_less_than(SQUARE, lambda: run(SIZE // 4), lambda: run(SIZE // 4 * TIMES))


def test_a_nugget_of_blanks_is_written_in_time_in_proportion(tmp_path):
    folders = (tmp_path / str(number) for number in count())

    def write(blanks):
        text, folder = "a" + " " * blanks + "\nb", next(folders)
        write_snippets(folder, [Snippet("s", text, (Extent(((1, len(text)),)),))])
        return text, folder

    assert grows_less_than(SQUARE, lambda: write(100_000), lambda: write(100_000 * TIMES))
    text, folder = write(100_000)
    (found,) = read_snippets(folder, [])
    assert [text[start:end] for start, end in found.nuggets[0].spans] == ["b"]


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_text_needs_time_in_proportion(name):
    for repeated in TEXTS:
        for end in ("", "x", "]"):
            assert grows_like_its_length(FUNCTIONS[name], "a", repeated, end), (repeated, end)


@pytest.mark.slow
def test_what_takes_the_square_is_found():
    assert not grows_like_its_length(lambda text: re.search(" +x", text), "", " ", "")


@pytest.mark.parametrize("first", ['"', '"a"b,"', 'qid,nugget,text,"verdict"x\n', "a" * 200_000, '\0,"'])
def test_a_broken_first_row_of_a_spreadsheet_is_an_input_error(tmp_path, first):
    (tmp_path / "x.csv").write_text(first)
    with pytest.raises(NuggeteerError):
        read_verdicts(tmp_path / "x.csv", [])


@pytest.mark.parametrize("content", ["template = " + "9" * 5000, "template = " + "[" * 5000])
def test_templates_of_long_numbers_and_deep_lists_are_input_errors(tmp_path, content):
    (tmp_path / "x.toml").write_text(content)
    with pytest.raises(NuggeteerError, match=r"x\.toml"):
        read_templates(tmp_path / "x.toml")


def test_a_template_is_found_in_no_time():
    with pytest.raises(NuggeteerError):
        find_template("[" * 5000, read_templates())


@pytest.mark.parametrize("offset", ["9" * 4301, "٣", "9" * 18])
def test_an_offset_of_thousands_of_digits_is_a_problem(tmp_path, offset):
    (tmp_path / "x.txt").write_text("some text")
    (tmp_path / "x.ann").write_text(f"T1\tLOC 0 {offset}\tsome\n")
    problems = []
    read_brat(tmp_path, problems)
    assert [problem.line for problem in problems] == [1]
