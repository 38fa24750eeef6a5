"""The settings of a collection: matching, thresholds, answers, whose verdicts count, intervals, gates, judges.

Each setting is declared here, with what it may be; `formats.toml_settings` reads the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from nuggeteer.errors import NuggeteerError, did_you_mean
from nuggeteer.fields import Share, about
from nuggeteer.languages import ENGLISH, LANGUAGES

Weights = Literal["idf", "unit"]
Stopwords = Literal["keep", "remove"]
Engine = Literal["exact", "pymc"]
Rouge = Literal["rouge1", "rouge2", "rougeL"]
Split = Literal["none", "sentences"]
Missing = Literal["error", "mean"]
Informative = Literal["descriptions", "responses"]
Described = Literal["key", "responses"]
Price = Annotated[float, Meta(ge=0, le=1_000_000)]
IntervalMethod = Literal["t", "bootstrap", "percentile"]

MATCHERS = ("learned", "ngram", "pourpre", "qaviar", "rouge", "external")  # our own
THRESHOLDS = ("smooth", "coin", "global", "question", "nugget", "nugget-errors", "pooled", "fixed")  # our own models
SAMPLED = tuple(name for name in THRESHOLDS if name != "fixed")  # those that PyMC samples
ENTRY_POINTS, MODEL_ENTRY_POINTS = "nuggeteer.matchers", "nuggeteer.models"
# Environment variables: the code of the user's own that settings may name, separated by commas.
ALLOWED_MATCHERS, ALLOWED_MODELS = "NUGGETEER_MATCHERS", "NUGGETEER_MODELS"


@dataclass(frozen=True, slots=True)
class Match:
    """The matcher and its settings. The defaults of the n-grams are those of the paper."""

    n: Annotated[Literal[1, 2, 3], about("The longest n-gram.")] = 2
    stem: Annotated[
        bool, about("Whether words are stemmed. In other languages than English true, where there are stems.")
    ] = False
    weights: Annotated[Weights, about("How words are weighted.")] = "idf"
    stopwords: Annotated[Stopwords, about("What happens to stop words.")] = "keep"
    idf: Annotated[
        str, about("`wordfreq`, `pool`, or the path of a table in this folder that `nuggeteer idf` wrote.")
    ] = "wordfreq"
    matcher: Annotated[
        str,
        about("One of ours, the name of an installed one, or package.module:make, which needs NUGGETEER_MATCHERS."),
        Meta(examples=[*MATCHERS]),
    ] = "learned"
    informative: Annotated[
        Informative,
        about("What says that another nugget has an n-gram: its description, or responses judged to carry it (ngram)."),
    ] = "descriptions"
    rouge: Annotated[Rouge, about("Of the matcher rouge.")] = "rouge1"
    external: Annotated[
        str, about("Of the matcher external: the path of a file of scores or verdicts in this folder.")
    ] = ""
    missing: Annotated[
        Missing, about("Of the matcher external: what happens to pairs without a score. `mean`: they get the mean.")
    ] = "error"
    judges: Annotated[
        tuple[str, ...],
        about("Language models: files of their verdicts in this folder (*.jsonl), or names of machines."),
    ] = ()
    marked: Annotated[bool, about("Whether words that assessors marked describe their nuggets too.")] = False
    described: Annotated[
        Described,
        about("`responses`: those that people judged to carry a nugget describe it too, and the best match counts."),
    ] = "key"
    language: Annotated[
        str,
        about("The language of nuggets and answers: whose words, stems, stop words and weights count."),
        Meta(extra_json_schema={"enum": sorted(LANGUAGES)}),
    ] = ENGLISH

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

    model: Annotated[
        str,
        about(
            "Decides guesses: fitted on the judgements, or `fixed`. One of ours, the name of an installed one, or "
            "package.module:make, which needs NUGGETEER_MODELS."
        ),
        Meta(min_length=1, examples=[*THRESHOLDS]),
    ] = "smooth"
    engine: Annotated[Engine, about("How the model is computed. `pymc` samples it, if it can.")] = "exact"
    # It is between the best thresholds on public data (experiments/match-settings.md).
    value: Annotated[
        Share, about("Of the fixed threshold: a response with a higher match score is guessed to carry the nugget.")
    ] = 0.2


@dataclass(frozen=True, slots=True)
class AnswerSettings:
    """Whether the records of a run are responses as they stand, or answers that are cut into responses."""

    split: Annotated[
        Split,
        about("`sentences`: each record of a run is cut into sentences, list items, headings and table rows."),
    ] = "none"


@dataclass(frozen=True, slots=True)
class JudgementSettings:
    """The machines, by their names as assessors, whose verdicts are known and not only a sign."""

    as_truth: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        about("Machines, by their names as assessors, whose verdicts are the standard, as if people had given them."),
    ] = ()


@dataclass(frozen=True, slots=True)
class ScoreSettings:
    """How the part of an interval is computed that comes from the choice of questions."""

    interval: Annotated[
        IntervalMethod,
        about("Of means and their differences: Student's t of log odds, or the bootstrap (BCa), or its percentiles."),
    ] = "t"


About = Literal["these", "all"]  # the questions of the key, or all that could have been asked
SURE = 0.95  # how probable a gate's decision must be


@dataclass(frozen=True, slots=True)
class NightlySettings:
    """The gates of `nuggeteer nightly`, the exit code when they are undecided, and where reports go."""

    measure: Annotated[
        str, about("The score that is compared with the last night's. Empty: f3 or, of a rubric, rubric.")
    ] = ""
    fail_if_worse: Annotated[Share, about("By how much the score may fall.")] = 0.05
    max_lost_vital: Annotated[
        Annotated[int, Meta(ge=0)] | Literal["any"], about("How many vital nuggets may be lost: `any`, or a number.")
    ] = "any"
    sure: Annotated[float, Meta(ge=0.5, le=1), about("The probability from which a loss counts as sure.")] = SURE
    about: Annotated[
        About, about("The questions that the gates are about: those of the key, or all that could have been asked.")
    ] = "these"
    undecided: Annotated[Literal[0, 1], about("The exit code when the gates are undecided.")] = 0
    markdown: Annotated[
        str, about("Where to write a summary: a file *.md in this folder."), Meta(pattern=r"^$|\.md$")
    ] = ""
    junit: Annotated[str, about("Where to write JUnit XML: *.xml."), Meta(pattern=r"^$|\.xml$")] = ""
    page: Annotated[str, about("Where to write the HTML page: *.html."), Meta(pattern=r"^$|\.html$")] = ""


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """A language model behind an OpenAI-compatible endpoint, for `nuggeteer ask`: `[judge.NAME]`."""

    name: str = ""
    url: Annotated[
        str,
        about("An OpenAI-compatible endpoint, without /chat/completions. Needed."),
        Meta(min_length=1, examples=["http://127.0.0.1:8080/v1"]),
    ] = ""
    model: Annotated[
        str, about("What the endpoint calls the model. Needed."), Meta(min_length=1, examples=["example"])
    ] = ""
    revision: Annotated[str, about("Your own mark of a version. Another revision is another judge.")] = ""
    prompt: Annotated[str, about("One of our prompts, or the path of a template of yours in this folder (*.txt).")] = (
        "assign-1"
    )
    key_env: Annotated[str, about("The environment variable that holds the key. The key itself stands in no file.")] = (
        ""
    )
    network: Annotated[bool, about("Whether the endpoint may be on another machine.")] = False
    input_price: Annotated[Price, about("Of a million tokens that are sent.")] = 0.0
    output_price: Annotated[Price, about("Of a million tokens of replies.")] = 0.0
    concurrency: Annotated[int, Meta(ge=1, le=256), about("How many requests may be open at once.")] = 4
    requests_per_minute: Annotated[
        int, Meta(ge=0, le=1_000_000), about("How many requests may be sent in a minute; 0 for no limit.")
    ] = 0
    max_tokens: Annotated[
        int, Meta(ge=16, le=1_000_000), about("Of a reply. A model that thinks first needs more.")
    ] = 1024
    timeout: Annotated[
        float, Meta(ge=1, le=3600), about("How many seconds a request may take, until its reply is whole.")
    ] = 60.0


@dataclass(frozen=True, slots=True)
class Settings:
    match: Match = Match()
    threshold: Threshold = Threshold()
    answers: AnswerSettings = AnswerSettings()
    score: ScoreSettings = ScoreSettings()
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


def allow(variable: str, name: str) -> None:
    """Let code run that the user has named, in worker processes too."""
    os.environ[variable] = ",".join(filter(None, [os.environ.get(variable), name]))


def users_own(kind: str, name: str, variable: str, option: str) -> Any:
    """The object at `package.module:make`, if whoever runs Nuggeteer has named it too. A collection may come from
    anybody, and what its settings name is code that would run."""
    if name not in os.environ.get(variable, "").split(","):
        raise NuggeteerError(
            f"the settings name the {kind} {name!r}, which is code that would run; if it is yours, say so: "
            f"set the environment variable {variable} to {name}, or name it with {option}"
        )
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def installed_models() -> dict[str, EntryPoint]:
    """Threshold models of other packages by name, except those with the name of one of our own."""
    found = entry_points(group=MODEL_ENTRY_POINTS)
    return {point.name: point for point in sorted(found) if point.name not in THRESHOLDS}
