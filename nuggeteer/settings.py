"""The settings of a collection: matching, thresholds, answers, whose verdicts count, gates, judges.

`formats.settings` reads them, and shows the file with all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Literal

from nuggeteer.errors import NuggeteerError, did_you_mean
from nuggeteer.languages import ENGLISH

Weights = Literal["idf", "unit"]
Stopwords = Literal["keep", "remove"]
Engine = Literal["exact", "pymc"]
Rouge = Literal["rouge1", "rouge2", "rougeL"]
Split = Literal["none", "sentences"]
Missing = Literal["error", "mean"]
Informative = Literal["descriptions", "responses"]

MATCHERS = ("learned", "ngram", "pourpre", "qaviar", "rouge", "external")  # our own
THRESHOLDS = ("smooth", "coin", "global", "question", "nugget", "nugget-errors", "pooled", "fixed")  # our own models
SAMPLED = ("global", "question", "nugget", "nugget-errors", "smooth")  # of them, those that PyMC samples
ENTRY_POINTS, MODEL_ENTRY_POINTS = "nuggeteer.matchers", "nuggeteer.models"


@dataclass(frozen=True, slots=True)
class Match:
    """The matcher and its settings. The defaults of the n-grams are those of the paper."""

    n: int = 2
    stem: bool = False
    weights: Weights = "idf"
    stopwords: Stopwords = "keep"
    idf: str = "wordfreq"
    matcher: str = "learned"
    informative: Informative = "descriptions"
    rouge: Rouge = "rouge1"
    external: str = ""
    missing: Missing = "error"
    judges: tuple[str, ...] = ()
    marked: bool = False
    language: str = ENGLISH

    @property
    def table(self) -> Path | None:
        """The table of word weights that these settings name, if any."""
        return Path(self.idf) if self.weights == "idf" and self.idf not in ("wordfreq", "pool") else None

    def __str__(self) -> str:
        """The settings of the n-gram matcher."""
        stem, stop = ("yes" if self.stem else "no"), self.stopwords
        return f"ngram(n={self.n},stem={stem},weights={self.weights},stopwords={stop})"


@dataclass(frozen=True, slots=True)
class Threshold:
    """The model that decides guesses: one of ours or of a user's own, fitted on the judgements, or one fixed
    threshold."""

    model: str = "smooth"
    engine: Engine = "exact"
    # For the fixed threshold. It is between the best thresholds on public data (experiments/match-settings.md).
    value: float = 0.2


@dataclass(frozen=True, slots=True)
class AnswerSettings:
    """Whether the records of a run are responses as they stand, or answers that are cut into responses."""

    split: Split = "none"


@dataclass(frozen=True, slots=True)
class JudgementSettings:
    """The machines, by their names as assessors, whose verdicts are known and not only a sign."""

    as_truth: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NightlySettings:
    """The gates of `nuggeteer nightly`, the exit code when they are undecided, and where reports go."""

    measure: str = ""
    fail_if_worse: float = 0.05
    max_lost_vital: int | Literal["any"] = "any"
    sure: float = 0.95
    undecided: int = 0
    markdown: str = ""
    junit: str = ""
    page: str = ""


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """A language model behind an OpenAI-compatible endpoint, for `nuggeteer ask`: `[judge.NAME]`."""

    name: str = ""
    url: str = ""
    model: str = ""
    revision: str = ""
    prompt: str = "assign-1"
    key_env: str = ""
    network: bool = False
    input_price: float = 0.0
    output_price: float = 0.0
    concurrency: int = 4
    requests_per_minute: int = 0
    max_tokens: int = 1024
    timeout: float = 60.0


@dataclass(frozen=True, slots=True)
class Settings:
    match: Match = Match()
    threshold: Threshold = Threshold()
    answers: AnswerSettings = AnswerSettings()
    nightly: NightlySettings = NightlySettings()
    judgements: JudgementSettings = JudgementSettings()
    judges: tuple[JudgeSettings, ...] = ()

    def judge(self, name: str) -> JudgeSettings:
        """The judge of that name."""
        for judge in self.judges:
            if judge.name == name:
                return judge
        if not self.judges:
            what = "nuggeteer.toml names no language model"
            raise NuggeteerError(f"{what}; add a section [judge.{name}] (docs/guides/language-models.md)")
        known = ", ".join(judge.name for judge in self.judges)
        meant = did_you_mean(name, [judge.name for judge in self.judges])
        what = f"nuggeteer.toml has no section [judge.{name}]; {meant}the judges are: {known}"
        raise NuggeteerError(f"{what} (docs/guides/language-models.md)")


def judge_files(folder: Path, judges: Iterable[str]) -> tuple[str, ...]:
    """Judges as `[match] judges` names them: files in the folder end in .jsonl, and others are machines."""
    return tuple(str(folder / name) if name.endswith(".jsonl") else name for name in judges)


def installed_matchers() -> dict[str, EntryPoint]:
    """Matchers of other packages by name, except those with the name of one of our own."""
    found = entry_points(group=ENTRY_POINTS)
    return {point.name: point for point in sorted(found) if point.name not in MATCHERS}


def installed_models() -> dict[str, EntryPoint]:
    """Threshold models of other packages by name, except those with the name of one of our own."""
    found = entry_points(group=MODEL_ENTRY_POINTS)
    return {point.name: point for point in sorted(found) if point.name not in THRESHOLDS}
