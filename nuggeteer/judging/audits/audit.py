"""A random sample of the guesses of a run, drawn and recorded before anyone judges it.

All nuggets of a run that nobody has judged are put in random order, one by one or by answer (`design`). Each unit is
drawn from those that are left; its probability is higher if it weighs more and if its guesses are less certain. The
order, the probabilities and the guesses are recorded before the first question is asked (`formats.audits`). A run has
one audit for one key; a request for more continues in the same order. A unit counts only if all units before it in the
order are settled. Otherwise assessors could choose the sample by skipping. `estimate` says what the counted units
prove.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from nuggeteer.errors import NuggeteerError
from nuggeteer.fields import as_written, valid_unicode
from nuggeteer.formats.audits import Head, Unit, read_audit, write_audit
from nuggeteer.formats.cache import own_path
from nuggeteer.judging.audits.design import AuditCosts, Designs, begins
from nuggeteer.judging.audits.estimate import AuditedMeasure, DrawnAudit, NuggetState, bound_measure
from nuggeteer.measures import Measure
from nuggeteer.records import AnswerKey
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.text import normalised


@dataclass(frozen=True)
class AuditResult:
    """The progress and the result of an audit.

    The first `judged` of the `planned` units count. `waiting` ones are settled too, but come after one that is not.
    `nuggets` is how many could be drawn. `measures` has None for a measure that the audit cannot bound."""

    head: Head
    planned: int
    judged: int
    waiting: int
    nuggets: int
    measures: dict[str, AuditedMeasure | None]


def draw_audit(scorer: Scorer, matched: MatchedRun, measure: Measure, planned: int) -> DrawnAudit:
    """The audit of a run. If there is none yet, it is drawn and recorded now."""
    path = _path(scorer, matched)
    if not path.is_file():
        own_path(scorer.collection.root, f"judgements/audits/{path.name}")
        write_audit(path, *_draw_units(scorer, matched, measure, planned, path.stem))
    found = find_audit(scorer, matched)
    assert found is not None
    return found


def find_audit(scorer: Scorer, matched: MatchedRun) -> DrawnAudit | None:
    """The audit of a run; None if there is none."""
    path = _path(scorer, matched)
    if not path.is_file():
        return None
    head, units = read_audit(path)
    place = scorer.key.nugget_position
    nugget = np.array([place[unit.qid, unit.nugget] for unit in units], dtype=np.int64)
    guess, size = np.array([[unit.guess, unit.size] for unit in units]).reshape(-1, 2).T
    begin = begins(scorer.key, nugget, head.by)
    audit = DrawnAudit(head, nugget, begin, guess, size[begin[:-1]])
    return replace(audit, planned=AuditCosts(scorer.key, matched.run).units(audit, head.planned))


def units_to_judge(
    scorer: Scorer, matched: MatchedRun, audit: DrawnAudit, count: int
) -> list[tuple[tuple[int, ...], Mapping[str, Any]]]:
    """The first units of an audit, as many as take as long as `count` single nuggets: (positions in the key, what
    verdicts on them are marked with)."""
    units = AuditCosts(scorer.key, matched.run).units(audit, count)
    return [(tuple(audit.unit(place).tolist()), audit.mark(place)) for place in range(units)]


def audit_result(scorer: Scorer, matched: MatchedRun, measures: Sequence[Measure]) -> AuditResult:
    """What the audit of a run proves with the verdicts so far."""
    audit = find_audit(scorer, matched)
    if audit is None:
        name, folder = matched.run.name, _path(scorer, matched).parent
        older = any(folder.glob(f"{stem(name)}-{'[0-9a-f]' * 8}.jsonl"))
        why = "its audit was drawn for other responses or another key" if older else "it has no audit"
        raise NuggeteerError(f"{name}: {why}; draw one with nuggeteer judge {name} --audit 100")
    state = NuggetState.of(matched, scorer.key)
    settled = ~np.logical_or.reduceat(state.open_[audit.nugget], audit.begin[:-1])
    judged = len(settled) if settled.all() else int(settled.argmin())
    proved = {measure.name: bound_measure(audit, state, judged, measure, scorer.key) for measure in measures}
    return AuditResult(audit.head, audit.planned, judged, int(settled[judged:].sum()), len(audit.nugget), proved)


def _draw_units(
    scorer: Scorer, matched: MatchedRun, measure: Measure, planned: int, name: str
) -> tuple[Head, list[Unit]]:
    key, composition = scorer.key, measure.auditable(scorer.key)
    if composition is None:
        if key.groups:
            raise NuggeteerError("a key with groups of nuggets cannot be audited: its scores are not sums over nuggets")
        raise NuggeteerError(f"{measure.name} cannot be audited here; recall, precision, F and pyramid F can")
    score = scorer.score(matched)
    guess = np.where(np.isnan(score.outcome.probability), 0.5, score.outcome.probability)
    responses = hash_of_responses(matched, key)
    rng = np.random.Generator(np.random.PCG64([scorer.seed, int(responses, 16)]))
    drawn = score.outcome.found[None, :] if score.outcome.drawn is None else score.outcome.drawn
    costs, state = AuditCosts(key, matched.run), NuggetState.of(matched, key)
    designs = Designs(state, guess, drawn, composition, measure, costs, scorer.seed)
    if not len(designs.nuggets):
        raise NuggeteerError(f"{matched.run.name}: every nugget that counts is judged; there is nothing to audit")
    expected = {
        name: (interval.value, *interval.judging)
        for name, interval in score.measures.items()
        if interval.value is not None and interval.judging is not None
    }
    by = designs.best(planned)
    audit = designs.draw(by, rng)
    at, run = as_written(datetime.now(UTC)), valid_unicode(matched.run.name)
    signature, seed = str(scorer.signature), scorer.seed
    head = Head(name, run, responses, _key(scorer), measure.name, planned, seed, at, signature, expected, by)
    size = np.repeat(audit.size, np.diff(audit.begin))
    return head, [
        Unit(key.nuggets[n].qid, key.nuggets[n].nugget, float(guess[n]), float(s))
        for n, s in zip(audit.nugget.tolist(), size.tolist(), strict=True)
    ]


def _path(scorer: Scorer, matched: MatchedRun) -> Path:
    content = f"{hash_of_responses(matched, scorer.key)}\t{_key(scorer)}"
    name = f"{stem(matched.run.name)}-{blake2b(content.encode(), digest_size=4).hexdigest()}"
    return scorer.collection.root / "judgements" / "audits" / f"{name}.jsonl"


def stem(run: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", run)[:60].lstrip(".")


def _key(scorer: Scorer) -> str:
    return scorer.signature.basis.key


def hash_of_responses(matched: MatchedRun, key: AnswerKey) -> str:
    """A hash of the responses of a run: their normalised texts, in order."""
    lines = (
        f"{key.questions[q].qid}\t{normalised(text)}"
        for q, text in zip(matched.run.question.tolist(), matched.run.texts, strict=True)
    )
    return blake2b("\n".join(lines).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
