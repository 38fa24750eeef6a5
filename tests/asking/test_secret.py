"""The key, which a server may quote in any encoding: it stands in no file, error or output in a form that decodes."""

from __future__ import annotations

import base64
import binascii
import html
import json
import quopri
import re
import time
from urllib.parse import quote, unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuggeteer.asking.secret import READ, Secret
from nuggeteer.cli.main import main
from tests.asking.fake_server import FakeServer, Fault
from tests.conftest import write_lines

KEY = "sk-SECRET/abc+def%41&=0"
DEPTH = 3  # how many encodings lie within each other


def as_json(text):
    return json.dumps(text)[1:-1]


ENCODINGS = {
    "as it is": str,
    "JSON with escaped slashes": lambda text: as_json(text).replace("/", "\\/"),
    "JSON with every character escaped": lambda text: "".join(f"\\u{ord(c):04x}" for c in text),
    "JSON with large digits": lambda text: "".join(f"\\u{ord(c):04X}" for c in text),
    "a script": lambda text: "".join(f"\\x{ord(c):02x}" for c in text),
    "percent": lambda text: quote(text, safe=""),
    "percent, every character": lambda text: "".join(f"%{ord(c):02x}" for c in text),
    "HTML": lambda text: html.escape(text),
    "HTML with numbers": lambda text: "".join(f"&#{ord(c)};" for c in text),
    "HTML with hexadecimal numbers": lambda text: "".join(f"&#x{ord(c):04X};" for c in text),
    "shouted": str.upper,
}
INNERMOST = {
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 of addresses": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "base64 of a header": lambda text: base64.b64encode(f"Bearer {text}\r\n".encode()).decode(),
    "base64 of a password": lambda text: base64.b64encode(f"me:{text}!".encode()).decode(),
    "hexadecimal": lambda text: text.encode().hex(),
}
KEYS = st.text(st.characters(codec="ascii", min_codepoint=33, max_codepoint=126, exclude_characters='"\\'), min_size=8)


def decodings(text):
    """The text as each of the usual decoders reads it."""
    yield re.sub(r"\\(?:[ux]\{?0*([0-9a-fA-F]{2})\}?|(.))", lambda m: chr(int(m[1], 16)) if m[1] else m[2], text)
    yield unquote(text)
    yield html.unescape(text)
    for run in re.findall(r"[A-Za-z0-9+/_-]{8,}", text):
        for start in range(4):
            digits = run[start:].replace("-", "+").replace("_", "/")
            whole = digits[: len(digits) // 4 * 4]
            yield base64.b64decode(whole).decode("latin-1")
            yield base64.b64decode(digits[: len(digits) - (len(digits) % 4 == 1)] + "==").decode("latin-1")
    for run in re.findall(r"(?:[0-9a-fA-F]{2}){4,}", text):
        yield binascii.unhexlify(run).decode("latin-1")


def shows(text, key, depth=DEPTH):
    """Whether somebody who decodes a text finds the key in it."""
    return key.lower() in text.lower() or (
        depth > 0 and any(shows(one, key, depth - 1) for one in set(decodings(text)))
    )


@given(
    KEYS,
    st.lists(st.sampled_from(sorted(ENCODINGS)), min_size=1, max_size=DEPTH - 1),
    st.none() | st.sampled_from(sorted(INNERMOST)),
    st.text(max_size=5),
    st.text(max_size=5),
)
def test_nobody_who_decodes_a_text_finds_the_key(key, encodings, innermost, before, after):
    text = INNERMOST[innermost](key) if innermost else key
    for encoding in encodings:
        text = ENCODINGS[encoding](text)
    assert not shows(Secret(key).hidden(f"{before}{text}{after}"), key, depth=2)


WITHIN = {
    **{name: encode for name, encode in {**ENCODINGS, **INNERMOST}.items() if name not in ("as it is", "shouted")},
    "JSON with braces": lambda text: "".join(f"\\u{{{ord(c):x}}}" for c in text),
    "long escapes": lambda text: "".join(f"\\U{ord(c):08x}" for c in text),
    "wide percents": lambda text: "".join(f"%u{ord(c):04x}" for c in text),
    "octal": lambda text: "".join(f"\\{ord(c):03o}" for c in text),
    "quoted-printable": lambda text: "".join(f"={ord(c):02X}" for c in text),
    "quoted-printable in lines": lambda text: quopri.encodestring(b"x" * 40 + text.encode()).decode(),
    "base64 in lines": lambda text: base64.encodebytes(b"x" * 40 + text.encode() + b"y" * 60).decode(),
    "base64 of UTF-16": lambda text: base64.b64encode(text.encode("utf-16")).decode(),
    "hexadecimal with colons": lambda text: text.encode().hex(":"),
    "a list of hexadecimal numbers": lambda text: ", ".join(f"0x{ord(c):02X}" for c in text),
}


@pytest.mark.slow
@settings(max_examples=500)
@given(
    KEYS,
    st.sampled_from([str, str.upper, str.lower]),
    st.lists(st.sampled_from(sorted(WITHIN)), min_size=1, max_size=4),
    st.text(" .:!?<>abcxyzé19", max_size=5),
    st.text(" .:!?<>ABCXYZé19", max_size=5),
)
def test_a_key_is_struck_out_in_any_form_within_any_other(key, case, forms, before, after):
    text = case(key)
    for form in forms:
        text = WITHIN[form](text)
    assert "***" in Secret(key).hidden(f"{before} {text} {after}")
    assert "***" in Secret(key).hidden(as_json(f"{before} {text} {after}"))


@pytest.mark.slow
@pytest.mark.parametrize("form", WITHIN)
def test_a_form_within_itself_is_read_to_its_end(form):
    text = KEY
    for _ in range(12):
        text = WITHIN[form](text)
        if len(text) > 100_000:
            break
        assert "***" in Secret(KEY).hidden(text)


def test_many_depths_take_no_time_and_nothing_is_kept_of_them():
    """A text of 390 kB in which the key stands 618 times, each time within one more encoding."""
    text = "".join(f"%{'25' * depth}73k-SECRE" for depth in range(618))
    begun = time.process_time()
    assert Secret("sk-SECRE").hidden(text) == "***"
    assert time.process_time() - begun < 2


@pytest.mark.parametrize(
    "text", [base64.b64encode(bytes(range(256)) * 1000).decode(), "one two\n" * 50_000, "ab12" * 90_000]
)
def test_what_only_looks_like_a_form_is_kept(text):
    assert Secret(KEY).hidden(text) == text


@given(
    st.text("abcXYZ0189-_./+=", min_size=8),
    st.lists(st.sampled_from([None, *sorted(ENCODINGS)]), min_size=8, max_size=8),
)
def test_each_character_may_have_an_encoding_of_its_own(key, encodings):
    text = "".join(ENCODINGS[encodings[i % 8]](c) if encodings[i % 8] else c for i, c in enumerate(key))
    assert Secret(key).hidden(f"<{text}>") == "<***>"


@given(st.text())
def test_other_text_stays_as_it_is(text):
    assert Secret(KEY).hidden(text) == text


@pytest.mark.parametrize("key", ["", "x", "EMPTY", "support"])
def test_what_is_too_short_for_a_key_is_not_taken_out_of_words(key):
    """Local servers are often given such a key, and a reply without its labels would be of no use."""
    assert Secret(key).hidden('{"1": "partial_support", "x": "EMPTY"}') == '{"1": "partial_support", "x": "EMPTY"}'


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["\\", "%25", "&amp;", KEY[:-1], "a"])
def test_as_much_is_kept_as_is_looked_at(piece):
    """However long a text is, whatever nearly is the key in it. What takes the square of its length would not end."""
    text = piece * (16_000_000 // len(piece))
    assert Secret(KEY).hidden(text) == text[:READ]


def test_a_key_in_a_hundred_encodings_is_found_in_each():
    """Each within the one before it, so that striking out one shows the next."""
    text, within = "", KEY
    for _ in range(100):
        within = within.replace("%", "%25").replace("S", "%53")
        text = f"{text} {within}"
    assert not shows(Secret("sk-SECRET/abc").hidden(text), "sk-SECRET/abc", depth=2)


STRUCK = {"fake.jsonl", "fake.proposals.jsonl", "proposals.jsonl"}
QUOTED = {name: encode for name, encode in {**ENCODINGS, **INNERMOST}.items() if name != "shouted"}


@pytest.mark.slow
@pytest.mark.parametrize("encoding", QUOTED)
def test_no_file_and_no_output_shows_what_a_server_quotes(ask_folder, monkeypatch, capsys, encoding):
    """In errors, replies, labels, proposals, the model's name and its mark; whole and in small chunks."""
    monkeypatch.setenv("THE_KEY", KEY)
    monkeypatch.setattr("nuggeteer.asking.sender.FIRST_PAUSE", 0.001)
    quoted = QUOTED[encoding](KEY)
    answer = " ".join(f"{letter}{digit}" for letter in "bcdfg" for digit in range(11))
    fact = {"text": f"{answer} {quoted}", "importance": "vital"}
    within = as_json(quoted)  # a reply is JSON within JSON
    faults = [
        Fault(500, content=f"the key {quoted} is tired", chunk=3),
        Fault(400, content=f"{'x' * 180} {quoted}"),
        Fault(content=f"as {quoted} said", chunk=1),
        Fault(content=json.dumps({"1": quoted})),
        Fault(content=f'{{"1": "{quoted}", "2": "{within}"}}'),
        Fault(raw=quoted.encode()),
        Fault(raw=f'{{"error": "{within}", "choices": [{{"message": {{"content": "{quoted}"}}}}]}}'.encode()),
        Fault(more={"system_fingerprint": f"{'x' * 190} {quoted}"}),
    ]
    with FakeServer(faults, model=f"m-{quoted}") as server:
        root = ask_folder(server, key_env="THE_KEY", concurrency=1)
        write_lines(root / "runs" / "long.jsonl", [{"qid": "q0", "text": answer}])
        assert main(["ask", "night", "--all", "--collection", str(root)]) in (0, 2)
        server.always = lambda request: Fault(content=json.dumps({"nuggets": [fact]}))
        assert main(["ask", "long", "--propose", "answers", "--collection", str(root)]) in (0, 2)
        server.always = lambda request: Fault(401, content=f"Incorrect API key provided: {quoted}")
        assert main(["ask", "long", "--all", "--collection", str(root)]) == 2
        assert not server.faults
    printed = capsys.readouterr()
    files = [path.read_text(errors="replace") for path in root.rglob("*") if path.is_file()]
    texts = [*files, printed.out, printed.err]
    assert not any(shows(line, KEY, 2) for text in texts for line in text.splitlines())
    assert {path.name for path in root.rglob("*") if path.is_file() and "***" in path.read_text()} == STRUCK
    assert "***" in printed.err
