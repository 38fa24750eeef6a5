"""The measures that compare a run's texts with the key, and need no verdict (`measures.kinds`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from importlib import import_module

import numpy as np

from nuggeteer.errors import NuggeteerError
from nuggeteer.languages import ENGLISH, title
from nuggeteer.matching.base import Material
from nuggeteer.matching.pourpre import make
from nuggeteer.measures import Measure
from nuggeteer.measures.kinds import ROUGE, credited_f
from nuggeteer.records import Ints, Nugget, Run, Vector


def values_by_text(
    measures: Iterable[Measure], run: Run, length: Ints, material: Material, jobs: int = 1
) -> dict[str, Vector]:
    """The values of those measures that compare texts, by question."""
    found = {}
    for measure in measures:
        if measure.by_text:
            rouge = measure.name in ROUGE
            found[measure.name] = (
                _rouge(measure.name, run, material) if rouge else _pourpre(measure, run, length, material, jobs)
            )
    return found


def _pourpre(measure: Measure, run: Run, length: Ints, material: Material, jobs: int) -> Vector:
    """Words are stemmed, and weigh as the settings say (idf, or 1 each). In another language than English, weights are
    those of stems only where the settings have stems."""
    key, settings = material.key, material.settings
    stem = settings.stem or settings.language == ENGLISH
    matcher = make(replace(material, settings=replace(settings, stem=stem)))
    scores = matcher.score(run.normalised_texts, run.question, jobs)
    _, nugget = key.pairs(run.question)
    credit = np.zeros(len(key.nuggets))
    np.maximum.at(credit, nugget, scores)
    return credited_f(key, credit, length, float(measure.name.removeprefix("pourpre_f")))


def _rouge(kind: str, run: Run, material: Material) -> Vector:
    """Recall of the whole key by the whole answer."""
    key, language = material.key, material.settings.language
    if language != ENGLISH:
        raise NuggeteerError(f"{kind} knows ASCII letters only, and the language is {title(language)}")
    try:
        scorer = import_module("rouge_score.rouge_scorer").RougeScorer([kind], use_stemmer=True)
    except ImportError as error:
        raise NuggeteerError(f"{kind} needs the package rouge-score: install nuggeteer[rouge]") from error
    return np.array(
        [scorer.score(_words_of(nuggets), run.answer(i))[kind].recall for i, (_, nuggets) in enumerate(key)]
    )


def _words_of(nuggets: Iterable[Nugget]) -> str:
    """All that an answer should say."""
    return " ".join(" ".join(n.descriptions) for n in nuggets if n.importance != "forbidden")
