"""How the model of `smooth` is fitted: expectation propagation (Minka 2001; Rasmussen & Williams 2006, §3.6).

The likelihood of each verdict is replaced by a normal one. It gives the mean and the variance that the exact one would
give beside all the others. Laplace's method would look at the mode instead, which is far from the mean where a nugget
or a question has few verdicts.

Nuggets and then answers are eliminated exactly, question by question, so only the core, which is b, v and w, is ever a
dense matrix. Questions of about the same size are worked on together. The spreads are learned by EM, in a few rounds
that begin with the prior's spreads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy

from nuggeteer.records import Bools, Ints, Matrix, Vector
from nuggeteer.thresholds.model import Evidence
from nuggeteer.thresholds.prior import Prior
from nuggeteer.thresholds.smooth import Questions, SmoothFit

NODES = 24  # of the quadrature over the logit of a verdict
ROUNDS, STEPS = 4, 40  # of EM, and of propagation in each at most
ENOUGH, CLOSE = 0.02, 1e-3  # changes of a spread, relative, and of a mean logit, after which nothing more is done
DAMPING = 0.8
MOST = 150_000  # units that are fitted to: some seconds, and weights that are known to a hundredth
LARGEST = 1 << 22  # numbers in an array of a batch
NEGLIGIBLE = 1e-8
FEW = 3  # places for nuggets or answers that are made as they are needed; more are made in powers of 2
FAR = 20.0  # log odds
_abscissa, _weight = np.polynomial.hermite_e.hermegauss(NODES)
_weight = _weight / _weight.sum()


def fit_smooth(evidence: Evidence, prior: Prior) -> SmoothFit:
    """Fit the model; with no evidence at all, this is the prior."""
    from threadpoolctl import threadpool_limits

    # The matrices are small: a second thread costs twenty times what it brings, and may change the last bit.
    with threadpool_limits(1):
        return _Propagation(enough_of(evidence), prior).run()


def enough_of(evidence: Evidence, most: int = MOST) -> Evidence:
    """All of it or, as after a year of nights, so many units that the fit takes seconds. Each build gives as many as
    any other, so a build of which little was read keeps everything."""
    if len(evidence) <= most:
        return evidence
    answers, answer = evidence.units.answers, evidence.units.answer
    build = answers.build[answer]
    count = np.bincount(build)
    shared = np.sort(count)
    # Builds in the order of their sizes: what is left for each of the others once the smaller ones are whole.
    left = (most - np.cumsum(shared) + shared) // np.arange(len(shared), 0, -1)
    share = int(left[np.argmax(left < shared)])
    order = np.lexsort((evidence.units.nugget, answers.key[answer], build))
    begin = np.cumsum(count) - count
    kept = np.zeros(len(evidence), dtype=bool)
    kept[order] = np.arange(len(order)) - begin[build[order]] < share
    return evidence.only(kept)


@dataclass
class _Batch:
    """Some questions, with places for nuggets and answers. `unit` is the number of the unit at each of their pairs, −1
    where there is none."""

    question: Ints
    nugget: Ints
    answer: Ints
    build: Ints
    system: Ints
    unit: Ints
    x: Matrix  # questions × nuggets × answers × clues
    y: Vector  # of its units: +1 or −1
    w: Vector = field(
        init=False
    )  # the precision, and the precision times the mean, of each verdict's normal likelihood
    nu: Vector = field(init=False)

    def __post_init__(self) -> None:
        self.w, self.nu = np.full(len(self.y), 0.1), 0.1 * self.y

    @cached_property
    def real(self) -> Bools:
        return self.unit >= 0

    def at_pairs(self, values: Vector) -> Matrix:
        result = np.zeros(self.unit.shape)
        result[self.real] = values
        return result


class _Eliminated:
    """A batch with its nuggets and then its answers eliminated, given the spreads; `smooth.Questions` says how these
    follow from the core."""

    def __init__(self, batch: _Batch, spreads: Sequence[float]) -> None:
        nugget, question, _, _, answer = spreads
        x, w, nu = batch.x, batch.at_pairs(batch.w), batch.at_pairs(batch.nu)
        answers = w.shape[2]
        # Σ of t, given v + w, is σ_u² + σ_c² in the diagonal and σ_c² elsewhere.
        self.inverse_prior = np.eye(answers) / answer**2 - question**2 / answer**2 / (answer**2 + answers * question**2)
        self.precision = nugget**-2 + w.sum(axis=2)
        self.information, self.told = w, nu.sum(axis=2)
        self.weighed = np.einsum("bjr,bjrk->bjk", w, x)
        self.share = w / self.precision[:, :, None]
        turned = self.share.transpose(0, 2, 1)
        middle = self.inverse_prior - turned @ w
        middle[:, np.arange(answers), np.arange(answers)] += w.sum(axis=1)
        self.of_t_and_b = np.einsum("bjr,bjrk->brk", w, x) - turned @ self.weighed
        self.of_t = nu.sum(axis=1) - np.einsum("bjr,bj->br", self.share, self.told)
        self.inverse = np.linalg.inv(middle)
        self.of_b = self.inverse @ self.of_t_and_b
        self.of_s = self.inverse @ self.inverse_prior
        self.shift = np.einsum("brs,bs->br", self.inverse, self.of_t)
        self.mean_x = self.weighed / self.precision[:, :, None]
        flat, clues = x.reshape(-1, x.shape[3]), x.shape[3]
        of_nuggets = self.weighed.reshape(-1, clues)
        self.core_b = (flat * w.reshape(-1, 1)).T @ flat - of_nuggets.T @ self.mean_x.reshape(-1, clues)
        self.core_b -= np.einsum("brk,brl->kl", self.of_t_and_b, self.of_b)
        self.core_b_s = np.einsum("brk,brs->bks", self.of_t_and_b, self.of_s)
        self.core_s = self.inverse_prior - self.inverse_prior @ self.of_s
        self.told_b = nu.reshape(-1) @ flat - np.einsum("bjk,bj->k", self.mean_x, self.told)
        self.told_b -= np.einsum("brk,br->k", self.of_b, self.of_t)
        self.told_s = self.shift @ self.inverse_prior

    def log_normaliser(self, spreads: Sequence[float]) -> float:
        """What its nuggets and answers add to the logarithm of the normal integral."""
        nugget = spreads[0]
        places = self.precision.size
        value = -0.5 * (np.log(self.precision).sum() + places * np.log(nugget**2))
        value += 0.5 * (self.told**2 / self.precision).sum() + 0.5 * np.einsum("br,br->", self.of_t, self.shift)
        value += 0.5 * np.linalg.slogdet(self.inverse)[1].sum()
        return float(value + 0.5 * len(self.precision) * np.linalg.slogdet(self.inverse_prior)[1])


class _Core:
    """b, v and w: their prior, and their posterior mean and covariance."""

    def __init__(self, prior: Prior, systems: int, system_of_build: Ints) -> None:
        self.clues, self.systems, self._system_of_build = len(prior.b), systems, system_of_build
        self.size = self.clues + systems + len(system_of_build)
        self._b_covariance, self._b_precision = prior.b_covariance, np.linalg.inv(prior.b_covariance)
        self._b = prior.b
        self._positive = prior.positive
        self.mean: Vector = np.zeros(self.size)
        self.covariance: Matrix = np.eye(self.size)
        self.log_normaliser = 0.0

    def solve(self, batches: Sequence[_Batch], parts: Sequence[_Eliminated], spreads: Sequence[float]) -> None:
        _, _, system, build, _ = spreads
        clues, end = self.clues, self.clues + self.systems
        precision, told = np.zeros((self.size, self.size)), np.zeros(self.size)
        precision[:clues, :clues] = self._b_precision
        told[:clues] = self._b_precision @ self._b
        diagonal = np.arange(clues, self.size)
        precision[diagonal, diagonal] = np.where(diagonal < end, system**-2, build**-2)
        log_prior, at_prior = float(np.linalg.slogdet(precision)[1]), float(self._b @ told[:clues])
        for batch, part in zip(batches, parts, strict=True):
            precision[:clues, :clues] += part.core_b
            told[:clues] += part.told_b
            taken = batch.build >= 0
            places = [np.where(taken, clues + batch.system, 0), np.where(taken, end + batch.build, 0)]
            both = taken[:, :, None] & taken[:, None, :]
            for place in places:
                np.add.at(told, place[taken], part.told_s[taken])
                across = np.zeros((clues, self.size))
                np.add.at(across.T, place[taken], part.core_b_s.transpose(0, 2, 1)[taken])
                precision[:clues] += across
                precision[:, :clues] += across.T
                for other in places:
                    rows, columns = np.broadcast_arrays(place[:, :, None], other[:, None, :])
                    # In one dimension: in two, it takes five times as long.
                    np.add.at(precision.reshape(-1), rows[both] * self.size + columns[both], part.core_s[both])
        self.covariance = np.linalg.inv(precision)
        self.mean = self.covariance @ told
        self.log_normaliser = 0.5 * (
            log_prior - float(np.linalg.slogdet(precision)[1]) + float(told @ self.mean) - at_prior
        )
        for clue in self._positive:
            self._be_positive(clue)

    def _be_positive(self, clue: int) -> None:
        """Make the posterior that of a weight known to be positive: normal, with the moments of the part above 0."""
        spread = np.sqrt(self.covariance[clue, clue])
        ratio = self.mean[clue] / spread
        log_above = float(scipy.special.log_ndtr(ratio))
        rise = np.exp(-0.5 * ratio**2 - log_above) / np.sqrt(2 * np.pi)
        per = self.covariance[clue] / spread
        self.mean = self.mean + per * rise
        self.covariance = self.covariance - np.outer(per, per) * rise * (ratio + rise)
        prior = self._b[clue] / np.sqrt(self._b_covariance[clue, clue])
        self.log_normaliser += log_above - float(scipy.special.log_ndtr(prior))

    def of_batch(self, batch: _Batch) -> tuple[Vector, Matrix, Matrix]:
        """b, the means of s = v + w of a batch's answers, and the covariance of b and s by question."""
        clues, build, taken = self.clues, batch.build, batch.build >= 0
        v, w = clues + self._system_of_build, np.arange(clues + self.systems, self.size)
        s = np.where(taken, (self.mean[v] + self.mean[w])[build], 0.0)
        questions, answers = taken.shape
        joint = np.zeros((questions, clues + answers, clues + answers))
        joint[:, :clues, :clues] = self.covariance[:clues, :clues]
        across = (self.covariance[v, :clues] + self.covariance[w, :clues])[build] * taken[:, :, None]
        joint[:, clues:, :clues], joint[:, :clues, clues:] = across, across.transpose(0, 2, 1)
        both = taken[:, :, None] & taken[:, None, :]
        of_s = np.asarray(sum(self.covariance[one[:, None], other] for one in (v, w) for other in (v, w)))
        joint[:, clues:, clues:] = np.where(both, of_s[build[:, :, None], build[:, None, :]], 0.0)
        return self.mean[:clues], s, joint


@dataclass(frozen=True)
class _Block:
    """A question with verdicts: its units, with their nuggets and answers."""

    question: int
    rows: Ints
    nuggets: Ints
    answers: Ints


class _Propagation:
    def __init__(self, evidence: Evidence, prior: Prior) -> None:
        self.evidence, self.prior, self.spreads = evidence, prior, list(prior.spreads)
        units = evidence.units
        judged = np.unique(units.answers.build[np.unique(units.answer)])
        self.builds = tuple(sorted(units.answers.builds[number] for number in judged.tolist()))
        self.systems = tuple(sorted({build.system for build in self.builds}))
        self.of_system = np.array([self.systems.index(build.system) for build in self.builds], dtype=np.int64)
        self.core = _Core(prior, len(self.systems), self.of_system)
        self.batches = list(self._batches())

    def _batches(self) -> list[_Batch]:
        units, of_nugget = self.evidence.units, self.evidence.question_of_nugget
        if not len(units):
            return []
        number = {build: i for i, build in enumerate(self.builds)}
        of_build = np.array([number.get(build, -1) for build in units.answers.builds], dtype=np.int64)
        question, sizes = of_nugget[units.nugget], dict[tuple[int, int], list[_Block]]()
        order = np.lexsort((units.answer, units.nugget, question))
        asked, start = np.unique(question[order], return_index=True)
        for one, rows in zip(asked.tolist(), np.split(order, start[1:]), strict=True):
            block = _Block(one, rows, np.unique(units.nugget[rows]), np.unique(units.answer[rows]))
            sizes.setdefault((_places(len(block.nuggets)), _places(len(block.answers))), []).append(block)
        x, clues = units.clues.astype(float), units.clues.shape[1]
        result = []
        for (nuggets, answers), blocks in sorted(sizes.items()):
            most = max(LARGEST // (nuggets * answers * (clues + answers)), 1)
            for part in (blocks[i : i + most] for i in range(0, len(blocks), most)):
                nugget, answer = np.full((len(part), nuggets), -1), np.full((len(part), answers), -1)
                unit = np.full((len(part), nuggets, answers), -1)
                for i, block in enumerate(part):
                    nugget[i, : len(block.nuggets)], answer[i, : len(block.answers)] = block.nuggets, block.answers
                    row = np.searchsorted(block.nuggets, units.nugget[block.rows])
                    unit[i, row, np.searchsorted(block.answers, units.answer[block.rows])] = block.rows
                features = np.zeros((*unit.shape, clues))
                features[unit >= 0] = x[unit[unit >= 0]]
                build = np.where(answer >= 0, of_build[units.answers.build[answer]], -1)
                system = np.where(answer >= 0, self.of_system[build], -1)
                yes = self.evidence.yes[unit[unit >= 0]]
                questions = np.array([block.question for block in part])
                result.append(
                    _Batch(questions, nugget, answer, build, system, unit, features, np.where(yes, 1.0, -1.0))
                )
        return result

    def run(self) -> SmoothFit:
        for round_ in range(ROUNDS if self.batches else 1):
            log_evidence = self._propagate()
            if round_ + 1 < ROUNDS and self.batches:
                before = np.array(self.spreads)
                self._learn_spreads()
                if np.abs(np.log(np.array(self.spreads) / before)).max() < ENOUGH:
                    break
        parts = [_Eliminated(batch, self.spreads) for batch in self.batches]
        self.core.solve(self.batches, parts, self.spreads)
        evidence, prior, (nugget, question, system, build, answer) = self.evidence, self.prior, self.spreads
        usual = evidence.units.clues.mean(axis=0, dtype=float) if len(evidence) else np.eye(len(prior.b))[0]
        return SmoothFit(
            names=prior.names,
            systems=self.systems,
            builds=self.builds,
            core=self.core.mean,
            core_covariance=(self.core.covariance + self.core.covariance.T) / 2,
            spreads=(nugget, question, system, build, answer),
            questions=tuple(map(self._questions, self.batches, parts)),
            question_of_nugget=evidence.question_of_nugget,
            nugget_key=evidence.nugget_key,
            question_key=evidence.question_key,
            usual=usual,
            partial=self._partial(),
            pairs=len(evidence),
            log10_evidence=log_evidence / np.log(10),
        )

    def _propagate(self) -> float:
        """Until no mean logit changes; the log evidence."""
        value = 0.0
        for _ in range(STEPS):
            parts = [_Eliminated(batch, self.spreads) for batch in self.batches]
            self.core.solve(self.batches, parts, self.spreads)
            value, moved = self.core.log_normaliser, 0.0
            for batch, part in zip(self.batches, parts, strict=True):
                mean, variance = self._logits(batch, part)
                factor, change = _move(batch, mean, variance)
                value, moved = value + part.log_normaliser(self.spreads) + factor, max(moved, change)
            if moved < CLOSE:
                break
        return value

    def _logits(self, batch: _Batch, part: _Eliminated) -> tuple[Vector, Vector]:
        """The mean and the variance of the logit of each verdict, given all of them."""
        b, s, covariance = self.core.of_batch(batch)
        t = part.shift - part.of_b @ b + np.einsum("brs,bs->br", part.of_s, s)
        a = (part.told - part.weighed @ b - np.einsum("bjr,br->bj", part.information, t)) / part.precision
        mean = batch.x @ b + a[:, :, None] + t[:, None, :]
        # Of its nuggets and answers, given the core; with h, what a + t is per t.
        across = part.share @ part.inverse
        own = np.diagonal(part.inverse, axis1=1, axis2=2)[:, None, :]
        within = (1 / part.precision + (across * part.share).sum(axis=2))[:, :, None]
        variance = within + own - 2 * across
        # And of the core: what the logit is per b and per s.
        per_b = batch.x - part.mean_x[:, :, None, :] - part.of_b[:, None] + (part.share @ part.of_b)[:, :, None, :]
        per_s = part.of_s[:, None] - (part.share @ part.of_s)[:, :, None, :]
        per = np.concatenate([per_b, per_s], axis=3)
        questions, nuggets, answers, size = per.shape
        seen = per.reshape(questions, nuggets * answers, size) @ covariance
        variance += (seen.reshape(per.shape) * per).sum(axis=3)
        return mean[batch.real], variance[batch.real]

    def _learn_spreads(self) -> None:
        """One round of EM: the expected squares of the effects, and the prior's."""
        _, question, _, _, answer = self.spreads
        sums, counts = np.zeros(5), np.zeros(5)
        for batch in self.batches:
            part = _Eliminated(batch, self.spreads)
            b, s, covariance = self.core.of_batch(batch)
            answers, places = np.count_nonzero(batch.build >= 0, axis=1), batch.build.shape[1]
            # d = t − s; what it is per b and per s.
            d = part.shift - part.of_b @ b + np.einsum("brs,bs->br", part.of_s, s) - s
            per = np.concatenate([-part.of_b, part.of_s - np.eye(places)], axis=2)
            squares = part.inverse + per @ covariance @ per.transpose(0, 2, 1) + d[:, :, None] * d[:, None, :]
            share = question**2 / (answer**2 + places * question**2)
            left = share * answer**2  # the variance of c given all t
            sums[1] += (share**2 * squares.sum(axis=(1, 2)) + left).sum()
            counts[1] += len(answers)
            of_u = np.eye(places) - share
            own = np.einsum("rs,bst,rt->br", of_u, squares, of_u) + left
            sums[4] += own[batch.build >= 0].sum()
            counts[4] += answers.sum()
            t = d + s
            a = (part.told - part.weighed @ b - np.einsum("bjr,br->bj", part.information, t)) / part.precision
            per_b = -part.mean_x + part.share @ part.of_b
            per = np.concatenate([per_b, -(part.share @ part.of_s)], axis=2)
            own = a**2 + 1 / part.precision + ((part.share @ part.inverse) * part.share).sum(axis=2)
            own += ((per @ covariance) * per).sum(axis=2)
            sums[0] += own[batch.nugget >= 0].sum()
            counts[0] += np.count_nonzero(batch.nugget >= 0)
        squares = self.core.mean**2 + np.diag(self.core.covariance)
        end = self.core.clues + self.core.systems
        sums[2], counts[2] = squares[self.core.clues : end].sum(), self.core.systems
        sums[3], counts[3] = squares[end:].sum(), len(self.builds)
        weight, first = self.prior.weight, np.array(self.prior.spreads)
        self.spreads = np.sqrt((weight * first**2 + sums) / (weight + counts)).tolist()

    def _partial(self) -> tuple[float, float]:
        """How much likelier it is that a nugget is supported at least in part, in log odds: the number that makes as
        many supported as people found, and its standard deviation. NaN if nobody says partly."""
        partly, yes = self.evidence.partly, self.evidence.yes
        if partly is None or not partly.any():
            return np.nan, np.nan
        mean, variance, supported = np.zeros((3, len(yes)))
        for batch in self.batches:
            part, units = _Eliminated(batch, self.spreads), batch.unit[batch.real]
            mean[units], variance[units] = self._logits(batch, part)
            supported[units] = (yes | partly)[units]
        scaled = mean / np.sqrt(1 + np.pi / 8 * variance)
        low, high = 0.0, FAR
        for _ in range(50):
            middle = (low + high) / 2
            few = scipy.special.expit(scaled + middle).sum() < supported.sum() + 0.5
            low, high = (middle, high) if few else (low, middle)
        chance = scipy.special.expit(scaled + low)
        return low, float(1 / np.sqrt(max((chance * (1 - chance)).sum(), 1.0)))

    def _questions(self, batch: _Batch, part: _Eliminated) -> Questions:
        key = self.evidence.units.answers.key
        return Questions(
            batch.question,
            batch.nugget,
            np.where(batch.answer >= 0, key[batch.answer], np.uint64(0)),
            batch.build,
            part.shift,
            part.of_b,
            part.of_s,
            np.linalg.cholesky((part.inverse + part.inverse.transpose(0, 2, 1)) / 2),
            part.precision,
            part.told,
            part.weighed,
            part.information,
        )


def _move(batch: _Batch, mean: Vector, variance: Vector) -> tuple[float, float]:
    """Move the normal likelihoods of a batch's verdicts to the moments that the exact ones give. What they add to the
    log evidence, and the largest change of a mean."""
    outside = 1 / np.maximum(1 / variance - batch.w, NEGLIGIBLE)  # the variance without the verdict itself
    centre = outside * (mean / variance - batch.nu)
    logit = centre[:, None] + np.sqrt(outside)[:, None] * _abscissa
    weight = scipy.special.expit(batch.y[:, None] * logit) * _weight
    total = weight.sum(axis=1)
    first, second = ((weight * power).sum(axis=1) / total for power in (_abscissa, _abscissa**2))
    exact, exact_variance = centre + np.sqrt(outside) * first, outside * (second - first**2)
    log_normal = -0.5 * np.log1p(batch.w * outside)
    log_normal += 0.5 * ((centre / outside + batch.nu) ** 2 / (1 / outside + batch.w) - centre**2 / outside)
    factor = float((np.log(total) - log_normal).sum())
    w = np.maximum(1 / exact_variance - 1 / outside, NEGLIGIBLE)
    nu = exact / exact_variance - centre / outside
    batch.w += DAMPING * (w - batch.w)
    batch.nu += DAMPING * (nu - batch.nu)
    return factor, float(np.abs(exact - mean).max(initial=0.0))


def _places(count: int) -> int:
    """A few more places than nuggets or answers, so that there are few sizes."""
    return count if count <= FEW else 1 << (count - 1).bit_length()
