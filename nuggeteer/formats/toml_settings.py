"""The file of settings, `nuggeteer.toml`: how it is read, and what is wrong with one."""

from __future__ import annotations

import json
import re
import reprlib
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

from msgspec import convert

from nuggeteer.errors import InputError, Problem, did_you_mean, fail
from nuggeteer.languages import ENGLISH, LANGUAGES, WITHOUT_STOP_WORDS, has_stemmer, title
from nuggeteer.settings import (
    MATCHERS,
    SAMPLED,
    THRESHOLDS,
    AnswerSettings,
    JudgementSettings,
    JudgeSettings,
    Match,
    NightlySettings,
    ScoreSettings,
    Settings,
    Threshold,
    installed_matchers,
    installed_models,
    judge_files,
)

_LARGEST = 1_000_000  # bytes of a file of settings


def read_settings(path: Path) -> Settings:
    """Read `nuggeteer.toml`, or return the defaults if there is no such file.

    Unknown keys are errors, because a misspelt key would silently change scores.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise fail(path, "is a device or a pipe", "replace it with a regular file")
    with suppress(OSError, RuntimeError):  # a link to itself: reading reports it
        if not path.resolve().is_relative_to(path.parent.resolve()):
            raise fail(path, "is a link that leads out of this folder", "replace it with the file itself")
    try:
        if path.stat().st_size > _LARGEST:
            raise fail(path, f"is larger than {_LARGEST:,} bytes", "it holds settings only; correct it")
        text = path.read_text(encoding="utf-8-sig")
        table = tomllib.loads(text)
    except FileNotFoundError:
        return Settings()
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise fail(path, "is not UTF-8", "save it as UTF-8", line) from error
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, and numbers or lists that are too long
        line_number = re.search(r"at line (\d+)", str(error))
        raise fail(path, f"not TOML: {error}", "correct it", int(line_number[1]) if line_number else None) from error
    except OSError as error:
        raise fail(path, f"cannot be read: {error.strerror}", "check the permissions") from error
    faults = list(_faults(table)) or [
        *_outside(path, table),
        *_not_sampled(table),
        *_not_in_this_language(table.get("match", {})),
    ]
    if faults:
        raise InputError([Problem(str(path), _line_of(text, one), one.what, one.remedy) for one in faults])
    match, threshold = convert(table.get("match", {}), Match), convert(table.get("threshold", {}), Threshold)
    nightly = table.get("nightly", {})
    files = {name: str(path.parent / nightly[name]) for name in ("markdown", "junit", "page") if nightly.get(name)}
    if match.language != ENGLISH and "stem" not in table["match"]:
        match = replace(match, stem=has_stemmer(match.language))
    if match.table:
        match = replace(match, idf=str(path.parent / match.idf))
    if match.external:
        match = replace(match, external=str(path.parent / match.external))
    match = replace(match, judges=judge_files(path.parent, match.judges))
    answers = convert(table.get("answers", {}), AnswerSettings)
    judgements = convert(table.get("judgements", {}), JudgementSettings)
    judges = tuple(_judge(path.parent, name, values) for name, values in table.get("judge", {}).items())
    scores = convert(table.get("score", {}), ScoreSettings)
    nights = convert({**nightly, **files}, NightlySettings)
    return Settings(match, threshold, answers, scores, nights, judgements, judges)


class _Fault(NamedTuple):
    """What is wrong with a setting, or with a section if no key is named."""

    section: str
    key: str
    what: str
    remedy: str


def _line_of(text: str, fault: _Fault) -> int | None:
    """The line of a fault's setting, or else of its section."""
    inside, found = False, None
    for number, line in enumerate(text.split("\n"), 1):
        if header := re.fullmatch(r"\s*\[+([^\]]+)\]+\s*(?:#.*)?", line):
            inside = header[1].replace('"', "").replace("'", "").strip() == fault.section
            found = number if inside else found
        elif inside and fault.key and re.match(rf"\s*[\"']?{re.escape(fault.key)}[\"']?\s*=", line):
            return number
    return found


def with_truth(path: Path, machine: str, before: bytes | None = None) -> bytes | None:
    """What `nuggeteer.toml` must hold so that a machine's verdicts are the standard; None if it says so already.

    `before` is what a new file will hold otherwise."""
    machines = read_settings(path).judgements.as_truth
    if machine in machines:
        return None
    if before is None:
        before = path.read_bytes() if path.exists() else b""
    names = ", ".join(json.dumps(name, ensure_ascii=False) for name in (*machines, machine))
    if "judgements" in tomllib.loads(before.decode("utf-8-sig")):
        raise fail(path, "has a section [judgements], which is yours to change", f"write in it: as_truth = [{names}]")
    if before and not before.endswith(b"\n"):
        before += b"\n"
    about = b"# Verdicts of these machines are the standard to score by.\n"
    return before + (b"\n" if before else b"") + about + f"[judgements]\nas_truth = [{names}]\n".encode()


def _judge(folder: Path, name: str, values: dict[str, Any]) -> JudgeSettings:
    """A judge's settings."""
    prompt = values.get("prompt", "")
    template = {"prompt": str(folder / prompt)} if prompt.endswith(".txt") else {}
    return convert({**values, **template, "name": name}, JudgeSettings)


def _outside(path: Path, table: dict[str, Any]) -> Iterator[_Fault]:
    """A collection may come from anybody: its settings name no file outside of it, and no other file to write."""
    root = path.parent.resolve()
    judges = {f"judge.{name}": values for name, values in table.get("judge", {}).items()}
    sections = {**table, **judges}
    files: dict[str, dict[str, str]] = {**_FILES, **{name: {"prompt": ""} for name in judges}}
    named = [
        (section, key, sections[section][key])
        for section, keys in files.items()
        for key in keys
        if sections.get(section, {}).get(key)
    ]
    named += [("match", "judges", name) for name in table.get("match", {}).get("judges", ()) if name.endswith(".jsonl")]
    for section, key, value in named:
        if key == "idf" and Match(**table["match"]).table is None:
            continue
        try:
            inside = (root / value).resolve().is_relative_to(root)
        except (OSError, RuntimeError, ValueError):  # a NUL, a link to itself: reading it reports that
            inside = True
        if not inside:
            yield _Fault(section, key, f"[{section}] {key} leads out of this folder", "name a file inside it")
        elif key != "judges" and not value.endswith(files[section][key]):
            remedy = f"name a file that ends in {files[section][key]}"
            yield _Fault(section, key, f"[{section}] {key} is {_shown(value)}", remedy)


def _not_sampled(table: dict[str, Any]) -> Iterator[_Fault]:
    threshold = Threshold(**table.get("threshold", {}))
    if threshold.engine == "pymc" and threshold.model not in SAMPLED:
        what = f"[threshold] engine is 'pymc', which does not have the model {threshold.model!r}"
        remedy = f"write model = {' or '.join(map(repr, SAMPLED))}, or leave engine out"
        yield _Fault("threshold", "engine", what, remedy)


def _not_in_this_language(match: dict[str, Any]) -> Iterator[_Fault]:
    """What only works in English, or not with these settings."""
    code = match.get("language", ENGLISH)
    if code == ENGLISH:
        return
    if match.get("matcher") == "rouge":
        remedy = "its words are of ASCII letters; choose another matcher"
        yield _Fault("match", "matcher", f"[match] matcher 'rouge' cannot read {title(code)}", remedy)
    if match.get("stem") and not has_stemmer(code):
        yield _Fault("match", "stem", f"[match] there are no stems of {title(code)}", "leave stem out")
    if match.get("stopwords") == "remove" and code in WITHOUT_STOP_WORDS:
        yield _Fault("match", "stopwords", f"[match] there are no stop words of {title(code)}", "leave stopwords out")
    if has_stemmer(code) and not match.get("stem", True) and Match(**match).table:
        yield _Fault("match", "idf", "[match] idf is a table, and its weights are those of stems", "leave stem out")


# The settings that name a file, and how the name of one that is written must end.
_FILES = {
    "match": {"idf": "", "external": ""},
    "nightly": {"markdown": ".md", "junit": ".xml", "page": ".html"},
}
SECTIONS: dict[str, type[Any]] = {
    "match": Match,
    "threshold": Threshold,
    "answers": AnswerSettings,
    "judgements": JudgementSettings,
    "score": ScoreSettings,
    "nightly": NightlySettings,
}
_KINDS: dict[str, Any] = {
    key: kind
    for section in (JudgeSettings, *SECTIONS.values())
    for key, kind in get_type_hints(section, include_extras=True).items()
}
_WANTED = {float: "a number", int: "a whole number", bool: "true or false", str: "a text in quotes"}
_LISTS = {"as_truth": "autonuggetizer", "judges": "judges/gpt-4o.jsonl"}  # settings that are lists, with an example


def _faults(table: dict[str, Any]) -> Iterator[_Fault]:
    for section, values in table.items():
        if section == "judge" and isinstance(values, dict):
            for name, own in values.items():
                yield from _faults_of_judge(name, own)
        elif section not in SECTIONS or not isinstance(values, dict):
            known = ", ".join(f"[{name}]" for name in (*SECTIONS, "judge.NAME"))
            yield _Fault(section, "", f"unknown section {section!r}", f"the sections are {known}")
        else:
            yield from _faults_of_section(section, values, asdict(SECTIONS[section]()))


def _faults_of_judge(name: str, values: Any) -> Iterator[_Fault]:
    if not isinstance(values, dict):
        yield _Fault("judge", name, f"[judge] {name} is {_shown(values)}", "write a section [judge.NAME]")
        return
    defaults = asdict(JudgeSettings())
    del defaults["name"]
    yield from _faults_of_section(f"judge.{name}", values, defaults)
    for key, example in (("url", "http://127.0.0.1:8080/v1"), ("model", "the name that the endpoint knows")):
        if not values.get(key):
            yield _Fault(f"judge.{name}", "", f"[judge.{name}] has no {key}", f'write {key} = "{example}"')


def _faults_of_section(section: str, values: dict[str, Any], settings: dict[str, Any]) -> Iterator[_Fault]:
    for key, value in values.items():
        if key in settings:
            remedy = wrong_setting(key, value, settings[key])
            what = f"[{section}] {key} is {_shown(value)}"
        else:
            remedy = f"{did_you_mean(key, settings)}the settings are {', '.join(settings)}"
            what = f"unknown setting [{section}] {key}"
        if remedy:
            yield _Fault(section, key, what, remedy)


def wrong_setting(key: str, value: Any, default: Any) -> str | None:
    """What to write instead of a wrong value; None if the value is good."""
    if key == "max_lost_vital":
        valid = value == "any" or (type(value) is int and value >= 0)
        return None if valid else "write a whole number from 0, or 'any'"
    if key in _LISTS:
        valid = isinstance(value, list) and all(isinstance(name, str) and name for name in value)
        return None if valid else f'write a list of names, for example ["{_LISTS[key]}"]'
    wanted = type(default)
    if type(value) is not wanted and not (wanted is float and type(value) is int):
        return f"write {_WANTED[wanted]}, for example {json.dumps(default)}"
    kind = _KINDS.get(key, Any)
    allowed = get_args(getattr(kind, "__origin__", kind))
    if default in allowed and value not in allowed:
        return f"write {' or '.join(map(repr, allowed))}"
    if key == "matcher" and ":" not in value and value not in (known := (*MATCHERS, *installed_matchers())):
        meant = did_you_mean(str(value), known)
        named = " or ".join(map(repr, known))
        return f"{meant}write {named}, install the package that provides it, or write 'package.module:make'"
    if key == "language" and value not in LANGUAGES:
        names = {code: code for code in LANGUAGES} | {name: code for code, (name, _) in LANGUAGES.items()}
        meant = did_you_mean(value, names).removeprefix("did you mean ").rstrip("? ")
        guess = f"write {names[meant]!r} for {LANGUAGES[names[meant]][0]}; " if meant else ""
        return f"{guess}the languages are {', '.join(LANGUAGES)}"
    if key == "model" and default == "smooth" and ":" not in value:
        known = (*THRESHOLDS, *installed_models())
        return None if value in known else f"write {' or '.join(map(repr, known))}, or 'package.module:make'"
    limits = [(meta.ge, meta.le) for meta in getattr(kind, "__metadata__", ()) if meta.le is not None]
    if limits and not limits[0][0] <= value <= limits[0][1]:
        return "write a number from {} to {}".format(*limits[0])
    return None


def _shown(value: Any) -> str:
    try:
        return reprlib.repr(value)
    except ValueError:  # Python refuses to write out an integer of thousands of digits
        return "a very long number"
