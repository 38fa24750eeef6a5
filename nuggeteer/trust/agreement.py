"""How far assessors agree on the pairs that several of them judged, and the tool with each of them.

A pair is a nugget and a text (`text.verdict_form`). Only verdicts that name an assessor count for that assessor. The
silence of a judged run counts as nobody's verdict. The tool is compared like another assessor: its verdict on a pair is
its guess after a fit that saw no verdict on the answers of that system, whoever gave it. Verdicts marked as a machine's
are compared with people's in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, compress
from typing import Annotated, Literal

import numpy as np
from msgspec import field

from nuggeteer.collection.answer_key import natural_order
from nuggeteer.collection.folder import Collection
from nuggeteer.display import Framed, Shown
from nuggeteer.errors import NuggeteerError
from nuggeteer.fields import Count, Number, Part, about
from nuggeteer.formats.sentences import responses_in
from nuggeteer.records import Bools, Ints, Judgement, Vector, number_or_none
from nuggeteer.scoring.evidence import builds_of, gather_evidence
from nuggeteer.scoring.fitted_model import fitted_to
from nuggeteer.scoring.known import UNKNOWN, YES, known_in
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.statistics.coefficients import (
    alpha,
    coincidences,
    contingency_tables,
    estimate,
    kappa,
    percent,
    positive,
    precision,
    sensitivity,
    two_rater_coincidences,
)
from nuggeteer.statistics.intervals import Estimate
from nuggeteer.text import normalised, verdict_form
from nuggeteer.thresholds.model import probability
from nuggeteer.thresholds.selection import FOLDS, folds_of
from nuggeteer.trust.judges import JudgeQuality, judge_qualities

NO_VERDICT = -1


class HeldOutGuesses:
    """The guess of the tool on every decided pair, as if the system of the pair had not been judged. A pair is a
    nugget with a judged text or, `by` answer, with an answer of which something was judged."""

    def __init__(
        self,
        scorer: Scorer,
        notify: Callable[[str], None] = lambda line: None,
        by: Literal["answer", "response"] = "response",
    ) -> None:
        self.scorer, self.by = scorer, by
        self.evidence = gather_evidence(
            scorer.collection, scorer.matcher, scorer.known, scorer.jobs, by, carried_over=False
        )
        self.probability = np.full(len(self.evidence), np.nan)
        if scorer.draws is None:
            self.left_out = "nothing: a fixed threshold learns from no verdict"
            threshold = scorer.model.threshold(self.evidence.nugget)
            self.yes: Bools = self.evidence.scores > threshold
            return
        folds = folds_of(self.evidence)
        settings = scorer.collection.settings.threshold
        self.left_out = "the systems that the texts are from"
        if not folds:
            self.left_out = "the texts, a fifth at a time; all are of one system, and others of its texts were seen"
            text = self.evidence.units.answer
            folds = [mask for fold in range(FOLDS) if (mask := text % FOLDS == fold).any()]
        notify(f"Fitting {len(folds)} times, each without some of {len(self.evidence):,} judged pairs.")
        for out in folds:
            held = self.evidence.only(out)
            model = fitted_to(self.evidence.only(~out), settings, scorer.matcher)
            self.probability[out] = probability(model, held.units)
        self.yes = self.probability >= 0.5

    def of(self, texts: Sequence[str], nugget: Ints, question: Ints) -> tuple[Ints, Ints, Vector]:
        """For each pair of a text and a nugget of its question: the tool's verdict, the known verdict, and the tool's
        probability of a yes. Pairs that no person decided have none of these."""
        units, tool, known_yes = self.evidence.units, *np.full((2, len(nugget)), NO_VERDICT)
        chance = np.full(len(nugget), np.nan)
        if self.by == "response":
            decided, asked = np.flatnonzero(self.scorer.known.taught != UNKNOWN), self._pairs(texts, nugget, question)
        else:
            of_answer = units.answers.build * len(self.scorer.key.questions) + units.answers.question
            decided = of_answer[units.answer] * len(self.scorer.key.nuggets) + units.nugget
            asked = self._of_answers(texts, question) * len(self.scorer.key.nuggets) + nugget
        decided, unit = np.unique(decided, return_index=True)
        found = np.flatnonzero(np.isin(asked, decided))
        own = unit[np.searchsorted(decided, asked[found])]
        tool[found], known_yes[found], chance[found] = self.yes[own], self.evidence.yes[own], self.probability[own]
        return tool, known_yes, chance

    def _pairs(self, texts: Sequence[str], nugget: Ints, question: Ints) -> Ints:
        """The numbers of these pairs among those of all judged texts; −1 where nobody judged the text."""
        known, key = self.scorer.known, self.scorer.key
        begin, _ = key.pairs(known.question)
        rows = known.rows(list(map(verdict_form, texts)), question)
        return np.where(rows >= 0, begin[rows] + nugget - key.offsets[question], -1)

    def _of_answers(self, texts: Sequence[str], question: Ints) -> Ints:
        """The numbers of these answers, by their builds and questions; −1 where nothing of one was judged."""
        known, split = self.scorer.known, self.scorer.collection.settings.answers.split
        _, build = builds_of(self.scorer.collection, known)
        numbers = np.full(len(texts), -1)
        for i, (text, own) in enumerate(zip(texts, question.tolist(), strict=True)):
            responses = responses_in(text, split)
            rows = known.rows(list(map(verdict_form, responses)), np.full(len(responses), own))
            if len(rows) and rows.min() >= 0:
                numbers[i] = build[rows[0]] * len(self.scorer.key.questions) + own
        return numbers


class Assessor(Part):
    """An assessor."""

    name: str = field(name="assessor")
    machine: bool
    pairs: Count
    yes: Count
    shared: Annotated[Count, about("Pairs that another person judged too.")]


class RaterAgreement(Shown, Part):
    """How two or more raters agree."""

    raters: tuple[str, ...]
    pairs: Count
    questions: Count
    differ: Count  # pairs with both a yes and a no
    yes: Annotated[tuple[float, ...] | None, about("Each rater's share; null for all people together.")]
    percent: Estimate
    kappa: Annotated[Estimate, about("Its value is null for all people together.")]
    alpha: Estimate
    positive: Estimate = field(name="positive_f1")
    precision: Annotated[
        Estimate, about("Of the first rater's yes, if the second is right; null for more than two raters.")
    ]
    recall: Estimate


class ToolGuess(Part):
    """What the tool guesses."""

    verdict: bool | None
    probability: Number  # of a yes


class Dispute(Part):
    """A pair that was judged differently."""

    qid: str
    nugget: str
    description: str
    text: str
    yes: Annotated[tuple[str, ...], about("Who said yes.")]
    no: Annotated[tuple[str, ...], about("Who said no.")]
    reasons: Annotated[Mapping[str, str], about("By name.")]
    tool: ToolGuess

    @property
    def among_people(self) -> bool:
        return bool(self.yes and self.no)


@dataclass(frozen=True, repr=False)
class MachineAgreement(Shown):
    """The agreement of the tool or another machine with people: with each person; with all `together`, on the pairs
    that several people judged; and with everything that `score` takes as `known`."""

    name: str
    each: tuple[RaterAgreement, ...]
    together: RaterAgreement | None
    known: RaterAgreement | None


@dataclass(frozen=True, repr=False)
class AssessorAgreement(Framed):
    """`people` has every two people who share a pair, `together` has all people (None if nobody shares a pair).
    `machines` are those whose verdicts are marked as a machine's. `left_out` names the data that the tool did not use
    for its guesses. `judges` are all judges of the collection. `unnamed` verdicts name no assessor. On `both` pairs the
    same assessor judged both yes and no. `others` compares each person with everything that is known without them, such
    as a developer's verdicts with the official ones (Marton & Radul 2006, §4.7), if there is a yes on their pairs."""

    assessors: tuple[Assessor, ...]
    people: tuple[RaterAgreement, ...]
    together: RaterAgreement | None
    tool: MachineAgreement
    machines: tuple[MachineAgreement, ...]
    left_out: str
    disputes: tuple[Dispute, ...]
    judges: tuple[JudgeQuality, ...]
    unnamed: int
    both: int
    others: tuple[RaterAgreement, ...]

    def _summary(self) -> str:
        names = ", ".join(assessor.name for assessor in self.assessors)
        kappa = None if self.together is None else self.together.kappa.value
        return f"{names}, κ {'–' if kappa is None else f'{kappa:.3f}'}"

    def _rows(self) -> Iterator[dict[str, object]]:
        """A row for each comparison of people, and of the tool and machines with them."""
        groups = [("people", self.people), ("known without them", self.others)]
        groups += [(machine.name, machine.each) for machine in (self.tool, *self.machines)]
        for kind, found in groups:
            for pair in found:
                row: dict[str, object] = {"of": kind, "raters": " and ".join(pair.raters), "pairs": pair.pairs}
                for name in ("percent", "kappa", "alpha", "positive"):
                    estimate = getattr(pair, name)
                    row |= {name: estimate.value, f"{name} low": estimate.low, f"{name} high": estimate.high}
                yield row | {"differ": pair.differ}


@dataclass(frozen=True)
class _VerdictTable:
    """`verdicts` is names × pairs: 1, 0 or `NO_VERDICT`, people first. Each pair has the positions of its nugget and
    its question, and its text."""

    names: tuple[str, ...]
    people: int
    verdicts: Ints
    nugget: Ints
    question: Ints
    texts: tuple[str, ...]
    reasons: dict[tuple[int, int], str]
    unnamed: int
    both: int
    questions: int  # of the key

    @property
    def of_people(self) -> Ints:
        return self.verdicts[: self.people]

    @cached_property
    def raters(self) -> Ints:
        """How many people judged each pair."""
        return np.asarray((self.of_people != NO_VERDICT).sum(axis=0))

    def assessors(self) -> Iterator[Assessor]:
        for i, (name, own) in enumerate(zip(self.names, self.verdicts, strict=True)):
            judged, shared = own != NO_VERDICT, self.raters > (i < self.people)
            counts = judged, own == 1, judged & shared
            yield Assessor(name, i >= self.people, *(int(which.sum()) for which in counts))

    def between(self, names: tuple[str, str], a: Ints, b: Ints) -> RaterAgreement | None:
        """The agreement of two raters on these pairs; None if they share none."""
        return _between(names, a, b, self.question, self.questions)

    def pairs_of_people(self) -> Iterator[RaterAgreement]:
        """The agreement of each two people who share a pair."""
        for i, j in combinations(range(self.people), 2):
            if found := self.between((self.names[i], self.names[j]), self.verdicts[i], self.verdicts[j]):
                yield found

    def together(self, *more: tuple[str, Ints]) -> RaterAgreement | None:
        """The agreement of all people, and of `more` raters with them, on the pairs that several people judged."""
        shared = self.raters > 1
        names = (*(name for name, _ in more), *self.names[: self.people])
        rows = np.vstack([*(row for _, row in more), self.of_people])
        return _among(names, rows[:, shared], self.question[shared], self.questions) if shared.any() else None

    def with_people(self, name: str, row: Ints, all_known: RaterAgreement | None) -> MachineAgreement:
        """The agreement of a machine with each person, with all of them, and with all that is known."""
        people = zip(self.names[: self.people], self.of_people, strict=True)
        each = (self.between((name, other), row, own) for other, own in people)
        return MachineAgreement(name, tuple(filter(None, each)), self.together((name, row)), all_known)


def agree(
    collection: Collection,
    seed: int = 0,
    jobs: int = 1,
    notify: Callable[[str], None] = lambda line: None,
    since: str | None = None,
) -> AssessorAgreement:
    """The agreement of all assessors of a collection, and of the tool, other machines and judges with them. `notify` is
    called before long work. Judges before the time `since` and after it are compared."""
    if not collection.judgements:
        raise NuggeteerError(f"{collection.root}: nobody has judged anything here; start with nuggeteer judge RUN")
    verdicts, questions = _verdicts(collection), collection.key.question
    guess = HeldOutGuesses(Scorer(collection, seed=seed, jobs=jobs), notify)
    tool, known, probability = guess.of(verdicts.texts, verdicts.nugget, verdicts.question)
    all_pairs = guess
    if any(judgement.scope == "answer" for judgement in collection.judgements):
        left, all_pairs = tool == NO_VERDICT, HeldOutGuesses(guess.scorer, notify, "answer")
        pairs = list(compress(verdicts.texts, left)), verdicts.nugget[left], verdicts.question[left]
        tool[left], known[left], probability[left] = all_pairs.of(*pairs)
    guessed, true = all_pairs.yes.astype(np.int64), all_pairs.evidence.yes.astype(np.int64)
    whole = _between(("tool", "known"), guessed, true, questions[all_pairs.evidence.nugget], verdicts.questions)
    machines = zip(verdicts.names[verdicts.people :], verdicts.verdicts[verdicts.people :], strict=True)
    return AssessorAgreement(
        tuple(verdicts.assessors()),
        tuple(verdicts.pairs_of_people()),
        verdicts.together(),
        verdicts.with_people("tool", tool, whole),
        tuple(verdicts.with_people(name, row, verdicts.between((name, "known"), row, known)) for name, row in machines),
        guess.left_out,
        _disputes(collection, verdicts, tool, probability),
        judge_qualities(collection, guess.scorer.known, since),
        verdicts.unnamed,
        verdicts.both,
        tuple(_with_others(collection, verdicts)),
    )


def _with_others(collection: Collection, verdicts: _VerdictTable) -> Iterator[RaterAgreement]:
    """The agreement of each person with everything that is known without them."""
    for name, own in zip(verdicts.names[: verdicts.people], verdicts.of_people, strict=True):
        rest = _known_without(collection, name, verdicts)
        theirs = not ((own != NO_VERDICT) & (rest == 1)).any()  # the silence of a run that this person judged
        if not theirs and (found := verdicts.between((name, "others"), own, rest)):
            yield found


def _known_without(collection: Collection, assessor: str, verdicts: _VerdictTable) -> Ints:
    """What is known about each pair without one person's verdicts, including from the silence of judged runs."""
    key = collection.key
    rest = [judgement for judgement in collection.judgements if judgement.assessor != assessor]
    known = known_in(collection.but(judgements=tuple(rest)))
    states = known(list(map(normalised, verdicts.texts)), verdicts.question.astype(np.int32))
    begin, _ = key.pairs(verdicts.question)
    own = states[begin[:-1] + verdicts.nugget - key.offsets[verdicts.question]]
    for i in np.flatnonzero(own == UNKNOWN).tolist():
        whole = known.answers.of_answer(int(verdicts.question[i]), verdicts.texts[i])
        own[i] = whole.get(int(verdicts.nugget[i]), UNKNOWN)
    return np.select([own == YES, own == UNKNOWN], [1, NO_VERDICT], 0)


def _verdicts(collection: Collection) -> _VerdictTable:
    """All verdicts of all assessors. If an assessor judged a pair both yes and no, the yes counts, as in `score`."""
    key = collection.key
    everybody = [*collection.judgements, *collection.machine]
    named = [(judgement.machine, judgement.assessor, judgement) for judgement in everybody if judgement.assessor]
    who = sorted(
        {(machine, name) for machine, name, _ in named}, key=lambda assessor: (assessor[0], natural_order(assessor[1]))
    )
    number = {assessor: i for i, assessor in enumerate(who)}
    pairs: dict[tuple[int, str], int] = {}
    texts: list[str] = []
    heard: list[tuple[int, int, Judgement]] = []
    for machine, name, judgement in named:
        judged = (key.nugget_position[judgement.qid, judgement.nugget], verdict_form(judgement.text))
        pair = pairs.setdefault(judged, len(pairs))
        if pair == len(texts):
            texts.append(judgement.text)
        heard.append((number[machine, name], pair, judgement))
    values = np.full((len(who), len(pairs)), NO_VERDICT, dtype=np.int64)
    reasons: dict[tuple[int, int], str] = {}
    both: set[tuple[int, int]] = set()
    for row, pair, judgement in heard:
        if values[row, pair] not in (NO_VERDICT, int(judgement.verdict)):
            both.add((row, pair))
        values[row, pair] = max(values[row, pair], int(judgement.verdict))
        if judgement.reason:
            reasons[row, pair] = judgement.reason
    nugget = np.array([position for position, _ in pairs], dtype=np.int64)
    people = sum(not machine for machine, _ in who)
    names = tuple(name for _, name in who)
    unnamed = len(everybody) - len(named)
    question, questions = key.question[nugget], len(key.questions)
    return _VerdictTable(names, people, values, nugget, question, tuple(texts), reasons, unnamed, len(both), questions)


def _between(names: tuple[str, str], a: Ints, b: Ints, question: Ints, questions: int) -> RaterAgreement | None:
    """The agreement of two raters on the pairs that both judged; None if there are none."""
    both = (a != NO_VERDICT) & (b != NO_VERDICT)
    if not both.any():
        return None
    yes, other = a[both] == 1, b[both] == 1
    table = contingency_tables(yes, other, question[both], questions)
    return RaterAgreement(
        names,
        len(yes),
        int(table.any(axis=1).sum()),
        int((yes != other).sum()),
        (float(yes.mean()), float(other.mean())),
        estimate(percent, table),
        estimate(kappa, table),
        estimate(alpha, two_rater_coincidences(table)),
        estimate(positive, table),
        estimate(precision, table),
        estimate(sensitivity, table),
    )


def _among(names: tuple[str, ...], rows: Ints, question: Ints, questions: int) -> RaterAgreement:
    """The agreement of several raters, who need not all have judged every pair."""
    yes, raters = (rows == 1).sum(axis=0), (rows != NO_VERDICT).sum(axis=0)
    table = coincidences(yes, raters, question, questions)
    return RaterAgreement(
        names,
        rows.shape[1],
        int(table.any(axis=1).sum()),
        int(((yes > 0) & (yes < raters)).sum()),
        None,
        estimate(percent, table),
        Estimate(None),
        estimate(alpha, table),
        estimate(positive, table),
        Estimate(None),
        Estimate(None),
    )


def _disputes(collection: Collection, verdicts: _VerdictTable, tool: Ints, probability: Vector) -> tuple[Dispute, ...]:
    """Disputes between people, in the order of the key; then those of the tool with all people, surest guess first."""
    names, values = verdicts.names[: verdicts.people], verdicts.verdicts[: verdicts.people]
    yes, no = (values == 1).any(axis=0), (values == 0).any(axis=0)
    among = yes & no
    alone = np.where(tool == 1, no & ~yes, (tool == 0) & yes & ~no)
    sure = np.where(np.isnan(probability), 0.0, abs(probability - 0.5))
    order: Sequence[int] = sorted(
        np.flatnonzero(among | alone).tolist(),
        key=lambda i: (not among[i], 0.0 if among[i] else -sure[i], verdicts.nugget[i]),
    )
    return tuple(
        Dispute(
            nugget.qid,
            nugget.nugget,
            nugget.descriptions[0],
            verdicts.texts[i],
            tuple(name for name, own in zip(names, values[:, i], strict=True) if own == 1),
            tuple(name for name, own in zip(names, values[:, i], strict=True) if own == 0),
            {names[row]: verdicts.reasons[row, i] for row in range(len(names)) if (row, i) in verdicts.reasons},
            ToolGuess(None if tool[i] == NO_VERDICT else bool(tool[i] == 1), number_or_none(probability[i])),
        )
        for i in order
        for nugget in [collection.key.nuggets[verdicts.nugget[i]]]
    )
