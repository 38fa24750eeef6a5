"""A person judging a run: what is asked, what each answer does, and how to take it back. Screens show it.

Every verdict is on disk before the next question is asked. The ledger is the only state, so an interrupted session is
continued by starting a new one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from nuggeteer.collection.ledger import Ledger
from nuggeteer.collection.proposals import Proposal, propose
from nuggeteer.errors import NuggeteerError
from nuggeteer.judging.cards import Card, ShownResponse
from nuggeteer.judging.filters import Filter, check_filter
from nuggeteer.judging.state import JudgingState, PendingPair
from nuggeteer.judging.verdicts import SessionVerdicts
from nuggeteer.matching.marks import Span
from nuggeteer.records import Importance, Judgement


@dataclass(frozen=True)
class _Step:
    """What one key press wrote, and the question and response it was pressed for."""

    pair: PendingPair | None
    response: int
    judgements: tuple[Judgement, ...]


@dataclass
class Session:
    """Asks one assessor about one subject.

    `state` may be older than the last verdicts, which `verdicts` has too, until a newer state arrives (`refresh`).
    `audit` has the units of an audit, in its order; without it, drawn pairs come first. `judged` counts the
    verdicts of this session, `total` all of the assessor's on these runs that stand.

    Each state's pairs are gone through once, so a verdict takes as long after thousands as at first."""

    state: JudgingState
    ledger: Ledger
    filter: Filter = field(default_factory=Filter)
    audit: Sequence[PendingPair] | None = None
    pending: PendingPair | None = field(default=None, init=False)
    response: int = field(default=-1, init=False)
    reason: str | None = field(default=None, init=False)
    shown: bool = field(default=False, init=False)
    judged: int = field(default=0, init=False)
    total: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.verdicts = SessionVerdicts(self.state)
        self._steps: list[_Step] = []
        self._skipped: dict[tuple[int, int, int], PendingPair] = {}  # in the order of skipping
        check_filter(self.state, self.filter)
        runs = {matched.run.name for matched in self.state.matched_runs}
        self.total = sum(
            judgement.assessor == self.ledger.assessor and judgement.run in runs
            for judgement in self.state.collection.judgements
        )
        self._start_over()
        self._next()

    # What is asked.

    def card(self) -> Card | None:
        """The question for the assessor; None when nothing is left to ask."""
        if self.pending is None:
            return None
        side, nugget = self.pending.side, self.pending.nugget
        state, key = self.state, self.state.key
        positions = state.responses(side, nugget)
        run = state.run(side)
        answer = tuple(
            ShownResponse(
                position,
                run.texts[position],
                run.docid(position),
                rank,
                () if self.blind else state.marks(run.texts[position], nugget),
                self.verdicts.verdict(side, nugget, position),
            )
            for rank, position in enumerate(positions, 1)
        )
        asked = answer[self.response - positions.start]
        own = {self.verdicts.form(response.text) for response in answer}
        examples = tuple(
            (text, state.marks(text, nugget))
            for same, text in state.examples(nugget).items()
            if same not in own and self.verdicts.is_yes_still(nugget, same)
        )
        return Card(
            key.questions[int(key.question[nugget])],
            key.nuggets[nugget],
            run.name,
            answer,
            self.response - positions.start,
            examples,
            self.blind,
            state.guesses(side, nugget, [self.response])[0] if self.shown else None,
            state.explanation(run.texts[self.response], nugget) if self.shown and asked.verdict is None else None,
            self.reason,
        )

    @property
    def blind(self) -> bool:
        """Whether the guess must stay hidden."""
        return self.audit is not None

    def left(self) -> int:
        """How many units of the audit are not settled."""
        return sum(not self.verdicts.are_enough_for(pair) for pair in self.audit or ())

    def open_pairs(self) -> Iterator[PendingPair]:
        """What is to be asked, each once and in order, as of the verdicts so far."""
        seen = set()
        for pair in self._in_order():
            if (key := _pending_key(pair)) not in seen and self._is_open(pair):
                seen.add(key)
                yield pair

    def _in_order(self) -> Iterator[PendingPair]:
        return self.state.pending_pairs() if self.audit is None else iter(self.audit)

    def _start_over(self) -> None:
        """Go through all pairs from the first. `_passed` has those found settled; undoing may open them again."""
        self._waiting, self._passed = self._in_order(), dict[int, list[PendingPair]]()

    def _is_open(self, pair: PendingPair) -> bool:
        return self.filter(self.state.key.nuggets[pair.nugget]) and not self.verdicts.are_enough_for(pair)

    def _next(self) -> None:
        """Go on to the first open question. Skipped ones come back when no other is left."""
        self.reason, self.shown = None, False
        for pair in self._waiting:
            if self.verdicts.are_enough_for(pair):
                self._passed.setdefault(pair.nugget, []).append(pair)
            elif self._is_open(pair) and _pending_key(pair) not in self._skipped:
                return self._go_to(pair)
        self._go_to(next(filter(self._is_open, self._skipped.values()), None))

    def _go_to(self, pair: PendingPair | None, response: int | None = None) -> None:
        if pair is not None and pair.drawn is not None and str(self.filter) == "all":
            try:
                self.state.drawn.record(pair.drawn)  # before it is seen
            except NuggeteerError as error:  # the last question stays
                self._waiting = chain([pair], self._waiting)
                raise NuggeteerError(f"no next question: {error}; every verdict given is kept") from error
        self.pending = pair
        if pair is None:
            self.response = -1
        elif response is not None:
            self.response = response
        elif pair.audit is not None:
            self.response = self.verdicts.open_responses(pair)[0]
        else:
            self.response = pair.response

    # What the assessor does.

    def judge(
        self, verdict: bool, whole: bool = False, span: Span | None = None, contradicts: bool = False
    ) -> list[Judgement]:
        """Write a verdict and go on. It is on the response in view or, for a `whole` answer, on every response without
        a known verdict. `span` is the part of the text that carries the nugget. A no may say that the response
        `contradicts` the nugget."""
        if self.pending is None:
            raise NuggeteerError("there is nothing left to judge")
        pair, nugget = self.pending, self.state.key.nuggets[self.pending.nugget]
        run = self.state.run(pair.side)
        open_ = self.verdicts.open_responses(pair)
        if not open_ or not (whole or self.response in open_):
            raise NuggeteerError("this is judged already; s goes on, u takes your last verdict back")
        positions = {self.verdicts.form(run.texts[p]): p for p in reversed(open_ if whole else [self.response])}
        asked = sorted(positions.values())
        guesses = self.state.guesses(pair.side, pair.nugget, asked)
        written = self.ledger.extend(
            [
                Judgement(
                    nugget.qid,
                    nugget.nugget,
                    run.texts[position],
                    verdict,
                    docid=run.docid(position),
                    run=run.name,
                    reason=self.reason,
                    span=list(span) if span else None,
                    contradicts=contradicts,
                    extra=self._extra(pair, *guess),
                )
                for position, guess in zip(asked, guesses, strict=True)
            ]
        )
        self._steps.append(_Step(pair, self.response, tuple(written)))
        self._count(len(written))
        for judgement in written:
            self.verdicts.remember(judgement, verdict)
        if pair.audit is not None and not self.verdicts.are_enough_for(pair):
            self.reason, self.shown = None, False
            self._go_to(pair)
        else:
            self._next()
        return written

    def judge_answer(self) -> Judgement:
        """Write a yes on the whole answer, wherever in it the nugget is, and go on."""
        if self.pending is None:
            raise NuggeteerError("there is nothing left to judge")
        pair, nugget = self.pending, self.state.key.nuggets[self.pending.nugget]
        run = self.state.run(pair.side)
        if self.verdicts.are_enough_for(pair):
            raise NuggeteerError("this is judged already; s goes on, u takes your last verdict back")
        text = run.answer(int(self.state.key.question[pair.nugget]))
        extra = self._extra(pair, *self.state.guesses(pair.side, pair.nugget, [self.response])[0])
        judgement = Judgement(
            nugget.qid, nugget.nugget, text, True, run=run.name, reason=self.reason, scope="answer", extra=extra
        )
        written = self.ledger.append(judgement)
        self._steps.append(_Step(pair, self.response, (written,)))
        self._count(1)
        self.verdicts.remember(written, True)
        self._next()
        return written

    def _extra(self, pair: PendingPair, probability: float | None, score: float) -> dict[str, Any]:
        """What is recorded with a verdict: the guess of the tool, and whether the assessor saw it."""
        extra: dict[str, Any] = {"guess": {"probability": probability, "score": score, "shown": self.shown}}
        extra["source"] = "judge"
        if pair.audit is not None:
            extra["audit"] = dict(pair.audit)
        return extra

    def skip(self) -> None:
        """Leave the question for later; skipped questions come last."""
        if self.pending is not None:
            self._skipped.pop(_pending_key(self.pending), None)  # to the end of those skipped
            self._skipped[_pending_key(self.pending)] = self.pending
            self._next()

    def undo(self) -> tuple[Judgement, ...]:
        """Retract what the last key press wrote, and go back to its question. When this session has nothing left to
        retract, take the assessor's last verdict on this subject from an earlier session. Returns what was
        retracted."""
        step = self._steps[-1] if self._steps else self._earlier()
        if step is None:
            return ()
        for judgement in step.judgements:
            self.ledger.retract(judgement)
            self.verdicts.remember(judgement, None)
            nugget, _ = self.verdicts.pair(judgement)
            self._waiting = chain(self._passed.pop(nugget, []), self._waiting)
        if self._steps:
            self._steps.pop()
            self._count(-len(step.judgements))
        else:
            self.total -= len(step.judgements)
        self.reason, self.shown = None, False
        if step.pair is not None:
            if self.pending is not None:
                self._waiting = chain([self.pending], self._waiting)
            self._go_to(step.pair, step.response)
        return step.judgements

    def _earlier(self) -> _Step | None:
        own = [
            judgement
            for judgement in self.state.collection.judgements
            if judgement.assessor == self.ledger.assessor
            and judgement.extra.get("source") == "judge"
            and judgement.run in {matched.run.name for matched in self.state.matched_runs}
            and not self.verdicts.is_taken_back(judgement)
        ]
        if not own:
            return None
        last = max(own, key=lambda judgement: judgement.at or "")
        nugget, same = self.verdicts.pair(last)
        side = next(s for s, matched in enumerate(self.state.matched_runs) if matched.run.name == last.run)
        texts = self.state.run(side).texts
        position = next((p for p in self.state.responses(side, nugget) if self.verdicts.form(texts[p]) == same), None)
        if position is None:  # the run has changed since
            return _Step(None, -1, (last,))
        audit = next((pair for pair in self.audit or () if (pair.side, pair.nugget) == (side, nugget)), None)
        return _Step(audit or PendingPair(side, nugget, position), position, (last,))

    def move(self, by: int) -> bool:
        """Turn to another response of the answer; False if there is none that way."""
        if self.pending is None:
            return False
        position = self.response + by
        inside = position in self.state.responses(self.pending.side, self.pending.nugget)
        if inside:
            self.response = position
        return inside

    def show_guess(self) -> None:
        """Show the guess of the tool. The verdict will record that it was shown."""
        if self.blind:
            raise NuggeteerError("an audit is blind: the guess stays hidden")
        self.shown = True

    def narrow(self, only: Filter) -> None:
        """Ask only about some questions or nuggets."""
        if self.audit is not None:
            raise NuggeteerError("an audit asks in the order that was drawn")
        check_filter(self.state, only)
        self.filter = only
        self._start_over()
        if self.pending is None or not only(self.state.key.nuggets[self.pending.nugget]):
            self._next()

    def propose(self, text: str, importance: Importance) -> Proposal:
        """Record a fact that is in the response in view and belongs in the answer, but is not in the key."""
        if self.pending is None:
            raise NuggeteerError("there is no answer in view to propose a nugget from")
        run, position = self.state.run(self.pending.side), self.response
        question = self.state.key.questions[int(self.state.key.question[self.pending.nugget])]
        made = Proposal(
            question.qid, text, importance, run.texts[position], run.name, run.docid(position), self.ledger.assessor
        )
        return propose(self.state.collection.root, made)

    # Newer states.

    @property
    def revision(self) -> int:
        """A number that grows with every verdict and retraction. Take it before reading a new state."""
        return self.verdicts.revision

    def refresh(self, state: JudgingState, revision: int) -> None:
        """Take over a new state, which has all verdicts up to `revision`. The question in view stays."""
        self.state = state
        self.verdicts.take_over(state, revision)
        self._start_over()
        if self.pending is None:
            self._next()

    def _count(self, verdicts: int) -> None:
        self.judged += verdicts
        self.total += verdicts


def _pending_key(pair: PendingPair) -> tuple[int, int, int]:
    return pair.side, pair.nugget, -1 if pair.audit is not None else pair.response
