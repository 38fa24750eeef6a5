"""The settings of a collection, `nuggeteer.toml`: how responses are matched, and when a match counts.

[match]
n = 2                  # longest n-gram: 1, 2 or 3
stem = false
weights = "idf"        # or "unit"
stopwords = "keep"     # or "remove"
idf = "wordfreq"       # or "pool", or the path of a table that `nuggeteer idf` wrote

[threshold]
value = 0.4            # a response whose match score is above it is guessed to carry the nugget
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from nuggeteer.errors import fail

Weights = Literal["idf", "unit"]
Stopwords = Literal["keep", "remove"]


@dataclass(frozen=True, slots=True)
class Match:
    """The n-gram matcher's settings; the defaults are the paper's."""

    n: int = 2
    stem: bool = False
    weights: Weights = "idf"
    stopwords: Stopwords = "keep"
    idf: str = "wordfreq"

    def __str__(self) -> str:
        stem, stop = ("yes" if self.stem else "no"), self.stopwords
        return f"ngram(n={self.n},stem={stem},weights={self.weights},stopwords={stop})"


@dataclass(frozen=True, slots=True)
class Threshold:
    """The fixed threshold that decides guesses."""

    # Between the best thresholds on public data (experiments/match-settings.md).
    value: float = 0.13


@dataclass(frozen=True, slots=True)
class Settings:
    match: Match = Match()
    threshold: Threshold = Threshold()


def read_settings(path: Path) -> Settings:
    """Read `nuggeteer.toml`; the defaults where there is none. Unknown keys are errors: a misspelt one
    would change scores in silence."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Settings()
    except UnicodeDecodeError as error:
        raise fail(path, "is not UTF-8", "save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise fail(path, f"is not TOML: {error}", "mend the line") from error
    except OSError as error:
        raise fail(path, f"cannot be read: {error.strerror}", "check the permissions") from error
    settings = Settings()
    for section, values in table.items():
        current = getattr(settings, section, None)
        if current is None or not isinstance(values, dict):
            known = ", ".join(f"[{f.name}]" for f in fields(settings))
            raise fail(path, f"unknown section {section!r}", f"the sections are {known}")
        _check(path, section, current, values)
        if section == "match" and values.get("idf") not in (None, "wordfreq", "pool"):
            values["idf"] = str(path.parent / values["idf"])
        settings = replace(settings, **{section: replace(current, **values)})
    return settings


_ALLOWED: dict[str, tuple[Any, ...]] = {
    "n": (1, 2, 3),
    "weights": get_args(Weights),
    "stopwords": get_args(Stopwords),
}


def _check(path: Path, section: str, current: Match | Threshold, values: dict[str, Any]) -> None:
    known = {f.name: getattr(current, f.name) for f in fields(current)}
    for key, value in values.items():
        place = f"[{section}] {key}"
        if key not in known:
            raise fail(path, f"unknown setting {place}", f"the settings are {', '.join(known)}")
        wanted = type(known[key])
        fits = isinstance(value, wanted) or (wanted is float and type(value) is int)
        if not fits or (wanted is not bool and isinstance(value, bool)):
            raise fail(
                path, f"{place} is {value!r}", f"write a {wanted.__name__}, for example {known[key]!r}"
            )
        if key in _ALLOWED and value not in _ALLOWED[key]:
            allowed = " or ".join(map(repr, _ALLOWED[key]))
            raise fail(path, f"{place} is {value!r}", f"write {allowed}")
        if key == "value" and not 0 <= value <= 1:
            raise fail(path, f"{place} is {value!r}", "write a number from 0 to 1")
