"""The evidence for the threshold model, and the fitted model, which is cached in the collection.

`.nuggeteer/thresholds` holds the last fit: named arrays and one line of text, the signature of all that it was fitted
on. Whenever that differs, or the file is damaged, of another version or of another user (formats/cache.py), the model
is fitted again, and a note says so. The file can be deleted at any time; the next fit takes a second or two.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Set
from dataclasses import fields
from hashlib import blake2b

import numpy as np

from nuggeteer.collection.folder import Collection
from nuggeteer.errors import InputError
from nuggeteer.formats.cache import FOLDER, DamagedFile, read_cache, write_cache
from nuggeteer.formats.draws import DrawnPair, represented
from nuggeteer.matching.base import Judged, MarkedSpan, Matcher
from nuggeteer.matching.panel import Panel
from nuggeteer.measures.base import per_question, ratio
from nuggeteer.pairs import ragged
from nuggeteer.records import AnswerKey, Ints, Vector
from nuggeteer.scoring.known import UNKNOWN, YES, VerdictIndex
from nuggeteer.scoring.left_out_texts import leave_out, owners
from nuggeteer.scoring.matching_cache import cached
from nuggeteer.text import length, verdict_form
from nuggeteer.thresholds.curve import GRID, STEEPNESS
from nuggeteer.thresholds.judges import BELIEF, JudgeBelief, with_judges, with_level
from nuggeteer.thresholds.learning import fit_smooth
from nuggeteer.thresholds.model import Evidence, Pairs, size_of
from nuggeteer.thresholds.nugget_effects import packed_weights, unpacked_weights
from nuggeteer.thresholds.prior import prior_for
from nuggeteer.thresholds.smooth import Prior, SmoothFit

FORMAT = "nuggeteer thresholds 8"
LAYOUT = 2  # of the file
NAME = "thresholds"
JUDGED = "\0judged"  # the name of a run that no file can have
MOST = 20_000  # judges' verdicts that tell the level


def judged_texts(collection: Collection, known: VerdictIndex) -> Judged:
    """The human verdicts, in the form in which matchers learn from them."""
    return _judged(known, _groups(collection, known)[1])


def _judged(known: VerdictIndex, group: Ints) -> Judged:
    return Judged(known.texts, known.question, group, known.taught != UNKNOWN, known.taught == YES)


def marked(collection: Collection, known: VerdictIndex) -> tuple[MarkedSpan, ...]:
    """The words that assessors marked with a yes. `span` is [start, end) in characters of the text."""
    _, group = _groups(collection, known)
    found = []
    for judgement in collection.judgements:
        if judgement.scope == "answer":
            continue
        match judgement.span:
            case [int(start), int(end)] if judgement.verdict and 0 <= start < end <= len(judgement.text):
                nugget = collection.key.nugget_position[judgement.qid, judgement.nugget]
                question = np.array([collection.key.position[judgement.qid]])
                row = int(known.rows([verdict_form(judgement.text)], question)[0])
                found.append(MarkedSpan(nugget, int(group[row]), judgement.text[start:end]))
    return tuple(found)


def _groups(collection: Collection, known: VerdictIndex) -> tuple[tuple[str, ...], Ints]:
    """The names of the groups whose systems were judged, and the index of the group of each judged text."""
    groups = [collection.group(run) for run in owners(collection, known)]
    names = tuple(sorted(set(groups)))
    number = {name: i for i, name in enumerate(names)}
    return names, np.array([number[name] for name in groups], dtype=np.int64)


def gather_evidence(
    collection: Collection, matcher: Matcher, known: VerdictIndex, jobs: int = 1, alone: bool = False
) -> Evidence:
    """All pairs that humans decided. A text that several systems returned counts once. With `alone`, without what
    verdicts say of other pairs, for those who leave some of the verdicts out."""
    key = collection.key
    matcher = cached(matcher, key, known.question, collection.root, JUDGED)
    names, group_of_text = _groups(collection, known)
    scores = matcher.score_judged(_judged(known, group_of_text), jobs)
    begin, nugget = ragged(key.offsets[known.question], key.counts[known.question])
    group = np.repeat(group_of_text, np.diff(begin))
    # The texts are normalised: no other white space than single spaces.
    lengths = np.array([len(text) - text.count(" ") for text in known.texts], dtype=np.int64)
    size = np.repeat(size_of(lengths), np.diff(begin))
    opinions = matcher.opinions(known.texts, known.question)
    weights = weights_in_recall(key)
    carried = None if alone else _carried_to_chosen(collection, matcher, known, begin)
    represents = None if alone else _represented_by_drawn(collection, known, begin)
    left_out = None if alone else leave_out(collection, matcher, known, begin, nugget)
    evidence = Evidence(
        scores,
        size,
        known.taught == YES,
        nugget,
        group,
        names,
        key.question,
        weights,
        opinions,
        carried,
        known.partly,
        known.whole,
        represents,
        left_out,
    )
    return evidence.only((known.taught != UNKNOWN) & ~np.isnan(scores))


def prior_of(collection: Collection, matcher: Matcher, jobs: int = 1, belief: JudgeBelief = BELIEF) -> Prior:
    """What is believed before the first human verdict: of the matcher's scores and, if there are judges, of these."""
    prior = prior_for(matcher.scores_overlap)
    if not isinstance(matcher, Panel):
        return prior
    prior = with_judges(prior, len(matcher.judges), belief)
    pairs, share = judges_verdicts(collection, matcher, jobs)
    return with_level(prior, pairs, share, belief) if len(pairs) else prior


def judges_verdicts(collection: Collection, panel: Panel, jobs: int = 1) -> tuple[Pairs, float]:
    """The pairs that judges gave verdicts on, and the share of yes."""
    said = [match for judge in panel.judges for match in judge.matches if match.yes is not None]
    # On answers of several responses, a share of yes says nothing of the responses.
    responses = _responses(collection, {match.run for match in said if match.whole})
    said = [match for match in said if not match.whole or (match.question, verdict_form(match.text)) in responses]
    said = said[:: max(-(-len(said) // MOST), 1)]
    row = {asked: i for i, asked in enumerate(sorted({(match.question, match.text) for match in said}))}
    texts, question = [text for _, text in row], np.array([number for number, _ in row], dtype=np.int32)
    key = collection.key
    begin, nugget = ragged(key.offsets[question], key.counts[question])
    size = np.repeat(size_of(np.array([length(text) for text in texts], dtype=np.int64)), np.diff(begin))
    pairs = Pairs(panel.score(texts, question, jobs), nugget, size, opinions=panel.opinions(texts, question))
    first = begin[np.array([row[match.question, match.text] for match in said], dtype=np.int64)]
    place = first + np.array([match.nugget - key.offsets[match.question] for match in said], dtype=np.int64)
    scored = ~np.isnan(pairs.scores[place])
    share = float(np.mean([match.yes for match in said])) if said else 0.0
    return pairs[place[scored]], share


def _responses(collection: Collection, runs: Set[str | None]) -> set[tuple[int, str]]:
    """The responses of these runs, by their questions and verdict forms; of all runs if one is not known."""
    names = set(collection.run_names)
    found: set[tuple[int, str]] = set()
    for name in sorted(names if None in runs else names & runs):
        run = collection.run(name)
        found.update(zip(run.question.tolist(), map(verdict_form, run.texts), strict=True))
    return found


def _carried_to_chosen(collection: Collection, matcher: Matcher, known: VerdictIndex, begin: Ints) -> Vector | None:
    """The log odds that other verdicts add to the judged pairs of systems that were not read as a whole. Their pairs
    were chosen by these log odds. A model without them would see nuggets found where words promise none, and take it
    for the merit of the system."""
    if not matcher.uses_judgements:
        return None
    whole = {run.name for run in collection.judged_runs}
    chosen = np.flatnonzero([run not in whole for run in known.runs])
    if not len(chosen):
        return None
    carried = matcher.carried([known.texts[row] for row in chosen.tolist()], known.question[chosen])
    if carried is None:
        return None
    result = np.full(int(begin[-1]), np.nan)
    result[ragged(begin[chosen], np.diff(begin)[chosen])[1]] = carried
    return result


def _represented_by_drawn(collection: Collection, known: VerdictIndex, begin: Ints) -> Vector | None:
    """How many open pairs each judged pair represents that `judge` drew; 0 for the others. A draw counts once it is
    judged. Runs that were read as a whole need none."""
    key, whole = collection.key, {run.name for run in collection.judged_runs}
    drawn: dict[tuple[str, str], dict[int, DrawnPair]] = {}
    for pair in collection.draws:
        if pair.run in whole or (pair.qid, pair.nugget) not in key.nugget_position:
            continue
        question = key.position[pair.qid]
        row = int(known.rows([verdict_form(pair.text)], np.array([question]))[0])
        if row >= 0:
            place = int(begin[row]) + key.nugget_position[pair.qid, pair.nugget] - int(key.offsets[question])
            if known.taught[place] != UNKNOWN:
                drawn.setdefault((pair.run, pair.answers), {}).setdefault(place, pair)
    if not drawn:
        return None
    result = np.zeros(int(begin[-1]))
    for places in drawn.values():
        result[list(places)] = represented(list(places.values()))
    return result


def weights_in_recall(key: AnswerKey) -> Vector:
    """How much each nugget adds to the recall of its question: by the pyramid's weights, or as a vital nugget. Those of
    a group share its weight."""
    weight = key.weight.copy() if key.weighted else key.vital.astype(float)
    for at in key.grouping.inside:
        weight[at] = weight[at[0]] / len(at)
    return ratio(weight, per_question(weight, key)[key.question], otherwise=0.0)


def signature_of_fit(matcher: Matcher) -> str:
    """What a fit depends on besides its evidence, for the signature of scores."""
    prior = prior_for(matcher.scores_overlap)
    if isinstance(matcher, Panel):
        prior = with_judges(prior, len(matcher.judges), BELIEF)
    return f"smooth({FORMAT.rpartition(' ')[2]},prior={blake2b(prior.signature.encode(), digest_size=4).hexdigest()})"


def fit_thresholds(
    collection: Collection, matcher: Matcher, known: VerdictIndex, basis: str, jobs: int = 1
) -> tuple[SmoothFit, list[str]]:
    """The smooth model for this collection, from the cache if it is still valid; and notes for the user."""
    notes: list[str] = []
    prior = prior_of(collection, matcher, jobs)
    basis = f"{FORMAT}|{LAYOUT}|{basis}|{prior.signature}"
    try:
        body = read_cache(collection.root, NAME, largest(collection.key))
        if body is not None:
            stored, fit = unpack_fit(body)
            if stored == basis:
                return fit, notes
            notes.append("The judgements or settings have changed: the thresholds were fitted again.")
    except DamagedFile:
        path = collection.root / FOLDER / NAME
        notes.append(f"{path} was damaged or made by another user: the thresholds were fitted again.")
    fit = fit_smooth(gather_evidence(collection, matcher, known, jobs), prior)
    try:
        write_cache(collection.root, NAME, pack_fit(basis, fit))
    except InputError as error:
        problem = error.problems[0]
        notes.append(f"{problem.file} {problem.what}: the thresholds will be fitted every time.")
    return fit, notes


def largest(key: AnswerKey) -> int:
    """More bytes than a fit on this key has."""
    of_nugget = 4 * len(STEEPNESS) * len(GRID) + 8
    return 100_000_000 + of_nugget * len(key.nuggets) + 16 * len(key.questions)


def pack_fit(basis: str, fit: SmoothFit) -> bytes:
    """A fit and what it was fitted on, for the file."""
    arrays = {field.name: np.asarray(getattr(fit, field.name)) for field in fields(fit)}
    arrays["nugget_weights"] = packed_weights(fit.nugget_weights)
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, basis=np.asarray(basis), **arrays)
    return buffer.getvalue()


def unpack_fit(body: bytes) -> tuple[str, SmoothFit]:
    """What `pack_fit` made. Only what `read_cache` has found to be ours comes here; nothing in it is executed."""
    try:
        with np.load(io.BytesIO(body), allow_pickle=False) as stored:
            basis = str(stored["basis"])
            values = {field.name: stored[field.name] for field in fields(SmoothFit)}
        values["nugget_weights"] = unpacked_weights(values["nugget_weights"])
        return basis, SmoothFit.from_arrays(values)
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise DamagedFile(f"a fit of another form: {error}") from error
