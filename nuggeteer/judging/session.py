"""A person judging a run: what is asked, what each answer does, how to take it back. There is no screen in here.

Every verdict is on disk before the next question is: the ledger is the state, and a session that is broken off is
taken up again by starting a new one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from nuggeteer.collection.ledger import Ledger
from nuggeteer.errors import NuggeteerError
from nuggeteer.judging.proposals import Proposal, propose
from nuggeteer.judging.state import JudgingState, PendingPair
from nuggeteer.matching.base import Explanation
from nuggeteer.matching.marks import Span
from nuggeteer.records import Importance, Judgement, Nugget, Question
from nuggeteer.text import normalised


@dataclass(frozen=True)
class ShownResponse:
    """A response as it is put before the assessor: what speaks for the nugget is marked, but in an audit, for it hints
    at the guess; `verdict` is what is known."""

    response: int
    text: str
    docid: str | None
    rank: int
    marks: tuple[Span, ...]
    verdict: bool | None


@dataclass(frozen=True)
class Card:
    """A question with all that is needed to answer it. `focus` is the place in `answer` of the response asked about;
    `guess` and what spoke for it are None as long as it is hidden."""

    question: Question
    nugget: Nugget
    run: str
    answer: tuple[ShownResponse, ...]
    focus: int
    examples: tuple[tuple[str, tuple[Span, ...]], ...]
    blind: bool
    guess: tuple[float | None, float] | None
    explanation: Explanation | None
    reason: str | None

    @property
    def response(self) -> ShownResponse:
        return self.answer[self.focus]


@dataclass(frozen=True)
class Filter:
    """Only these questions and nuggets."""

    qid: str | None = None
    nugget: str | None = None

    def __call__(self, nugget: Nugget) -> bool:
        return self.qid in (None, nugget.qid) and self.nugget in (None, nugget.nugget)

    def __str__(self) -> str:
        return "/".join(part for part in (self.qid or "*", self.nugget) if part) if self.qid or self.nugget else "all"


@dataclass(frozen=True)
class _Step:
    """What one key wrote, and where it was pressed."""

    pair: PendingPair | None
    response: int
    judgements: tuple[Judgement, ...]


@dataclass
class Session:
    """Asks about one subject for one assessor.

    `state` may be older than the last verdicts: what they say is remembered here until a new one is taken
    (`refresh`). `audit` are units drawn by an audit, in its order; without it what is worth asking comes first."""

    state: JudgingState
    ledger: Ledger
    filter: Filter = field(default_factory=Filter)
    audit: Sequence[PendingPair] | None = None
    pending: PendingPair | None = field(default=None, init=False)
    response: int = field(default=-1, init=False)
    reason: str | None = field(default=None, init=False)
    shown: bool = field(default=False, init=False)
    judged: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._said: dict[tuple[int, str], bool | None] = {}
        self._when: dict[tuple[int, str], int] = {}
        self._steps: list[_Step] = []
        self._skipped: dict[tuple[int, int, int], int] = {}
        self._clock = 0
        _must_be_there(self.state, self.filter)
        self._next()

    # What is asked.

    def card(self) -> Card | None:
        """What is put before the assessor; None when there is nothing left to ask."""
        if self.pending is None:
            return None
        side, nugget = self.pending.side, self.pending.nugget
        state, key = self.state, self.state.key
        places = state.responses(side, nugget)
        run = state.run(side)
        answer = tuple(
            ShownResponse(
                place,
                run.texts[place],
                run.docid(place),
                rank,
                () if self.blind else state.marks(run.texts[place], nugget),
                self.verdict(side, nugget, place),
            )
            for rank, place in enumerate(places, 1)
        )
        asked = answer[self.response - places.start]
        own = {normalised(one.text) for one in answer}
        examples = tuple(
            (text, state.marks(text, nugget))
            for same, text in state.examples(nugget).items()
            if same not in own and self._said.get((nugget, same), True)
        )
        return Card(
            key.questions[int(key.question[nugget])],
            key.nuggets[nugget],
            run.name,
            answer,
            self.response - places.start,
            examples,
            self.blind,
            state.guesses(side, nugget, [self.response])[0] if self.shown else None,
            state.explanation(run.texts[self.response], nugget) if self.shown and asked.verdict is None else None,
            self.reason,
        )

    @property
    def blind(self) -> bool:
        """Whether the guess may not be shown at all."""
        return self.audit is not None

    def verdict(self, side: int, nugget: int, response: int) -> bool | None:
        """What is known of a pair, this session's verdicts included."""
        place = (nugget, normalised(self.state.run(side).texts[response]))
        return self._said[place] if place in self._said else self.state.verdict(side, nugget, response)

    def left(self) -> int:
        """How many of an audit's units are not settled."""
        return sum(not self._settled(pair) for pair in self.audit or ())

    def _candidates(self) -> Iterator[PendingPair]:
        return self.state.pending_pairs() if self.audit is None else iter(self.audit)

    def _next(self) -> None:
        """Go on to the first question that is open; to one that was skipped only when there is no other."""
        self.reason, self.shown = None, False
        skipped: list[PendingPair] = []
        for pair in self._candidates():
            if not self.filter(self.state.key.nuggets[pair.nugget]) or self._settled(pair):
                continue
            if _place(pair) not in self._skipped:
                return self._go_to(pair)
            skipped.append(pair)
        self._go_to(min(skipped, key=lambda one: self._skipped[_place(one)], default=None))

    def _go_to(self, pair: PendingPair | None, response: int | None = None) -> None:
        self.pending = pair
        if pair is None:
            self.response = -1
        elif response is not None:
            self.response = response
        elif pair.audit is not None:
            self.response = self._open(pair)[0]
        else:
            self.response = pair.response

    def _open(self, pair: PendingPair) -> list[int]:
        """The responses of an answer on which nothing is known."""
        places = self.state.responses(pair.side, pair.nugget)
        return [place for place in places if self.verdict(pair.side, pair.nugget, place) is None]

    def _settled(self, pair: PendingPair) -> bool:
        if pair.audit is None and self.verdict(pair.side, pair.nugget, pair.response) is not None:
            return True
        places = self.state.responses(pair.side, pair.nugget)
        verdicts = [self.verdict(pair.side, pair.nugget, place) for place in places]
        return True in verdicts or None not in verdicts

    # What the assessor does.

    def judge(self, verdict: bool, whole: bool = False, span: Span | None = None) -> list[Judgement]:
        """Write a verdict on the response in view or, of a `whole` answer, a no on every response on which nothing is
        known; then go on. `span` is where in the text the words stand that carry the nugget."""
        if self.pending is None:
            raise NuggeteerError("there is nothing left to judge")
        pair, nugget = self.pending, self.state.key.nuggets[self.pending.nugget]
        run = self.state.run(pair.side)
        open_ = self._open(pair)
        if not open_ or not (whole or self.response in open_):
            raise NuggeteerError("this is judged already; s goes on, u takes your last verdict back")
        places = {normalised(run.texts[p]): p for p in reversed(open_ if whole else [self.response])}
        asked = sorted(places.values())
        guesses = self.state.guesses(pair.side, pair.nugget, asked)
        written = self.ledger.extend(
            [
                Judgement(
                    nugget.qid,
                    nugget.nugget,
                    run.texts[place],
                    verdict,
                    docid=run.docid(place),
                    run=run.name,
                    reason=self.reason,
                    span=list(span) if span else None,
                    extra=self._extra(pair, *guess),
                )
                for place, guess in zip(asked, guesses, strict=True)
            ]
        )
        self._steps.append(_Step(pair, self.response, tuple(written)))
        self.judged += len(written)
        for judgement in written:
            self._say(pair.nugget, normalised(judgement.text), verdict)
        if pair.audit is not None and not self._settled(pair):
            self.reason, self.shown = None, False
            self._go_to(pair)
        else:
            self._next()
        return written

    def _extra(self, pair: PendingPair, probability: float | None, score: float) -> dict[str, Any]:
        """What goes with a verdict: what the tool had guessed, and whether the assessor knew."""
        extra: dict[str, Any] = {"guess": {"probability": probability, "score": score, "shown": self.shown}}
        extra["source"] = "judge"
        if pair.audit is not None:
            extra["audit"] = dict(pair.audit)
        return extra

    def skip(self) -> None:
        """Leave the question for later; skipped ones come last."""
        if self.pending is not None:
            self._clock += 1
            self._skipped[_place(self.pending)] = self._clock
            self._next()

    def undo(self) -> tuple[Judgement, ...]:
        """Retract what the last key wrote and go back to it; when this session has written nothing more, the
        assessor's last verdict on this subject of an earlier one. Returns what was retracted."""
        step = self._steps[-1] if self._steps else self._earlier()
        if step is None:
            return ()
        for judgement in step.judgements:
            self.ledger.retract(judgement)
            self._say(*self._spot(judgement), None)
        if self._steps:
            self._steps.pop()
            self.judged -= len(step.judgements)
        self.reason, self.shown = None, False
        if step.pair is not None:
            self._go_to(step.pair, step.response)
        return step.judgements

    def _earlier(self) -> _Step | None:
        own = [
            judgement
            for judgement in self.state.collection.judgements
            if judgement.assessor == self.ledger.assessor
            and judgement.extra.get("source") == "judge"
            and judgement.run in {matched.run.name for matched in self.state.matched_runs}
            and self._said.get(self._spot(judgement), True) is not None
        ]
        if not own:
            return None
        last = max(own, key=lambda judgement: judgement.at or "")
        nugget, same = self._spot(last)
        side = next(s for s, matched in enumerate(self.state.matched_runs) if matched.run.name == last.run)
        texts = self.state.run(side).texts
        place = next((p for p in self.state.responses(side, nugget) if normalised(texts[p]) == same), None)
        if place is None:  # the run has changed since
            return _Step(None, -1, (last,))
        audit = next((pair for pair in self.audit or () if (pair.side, pair.nugget) == (side, nugget)), None)
        return _Step(audit or PendingPair(side, nugget, place), place, (last,))

    def _spot(self, judgement: Judgement) -> tuple[int, str]:
        place = self.state.key.nugget_position[judgement.qid, judgement.nugget]
        return place, normalised(judgement.text)

    def move(self, by: int) -> bool:
        """Turn to another response of the answer; False at its ends."""
        if self.pending is None:
            return False
        place = self.response + by
        inside = place in self.state.responses(self.pending.side, self.pending.nugget)
        if inside:
            self.response = place
        return inside

    def show_guess(self) -> None:
        """Show what the tool thinks; the verdict will say that it was shown."""
        if self.blind:
            raise NuggeteerError("an audit is blind: the guess stays hidden")
        self.shown = True

    def narrow(self, only: Filter) -> None:
        """Ask only about some questions or nuggets."""
        if self.audit is not None:
            raise NuggeteerError("an audit asks in the order that was drawn")
        _must_be_there(self.state, only)
        self.filter = only
        if self.pending is None or not only(self.state.key.nuggets[self.pending.nugget]):
            self._next()

    def propose(self, text: str, importance: Importance) -> Proposal:
        """Put down a fact that is in the response in view, belongs in the answer and is not in the key."""
        if self.pending is None:
            raise NuggeteerError("there is no answer in view to propose a nugget from")
        run, place = self.state.run(self.pending.side), self.response
        question = self.state.key.questions[int(self.state.key.question[self.pending.nugget])]
        made = Proposal(
            question.qid, text, importance, run.texts[place], run.name, run.docid(place), self.ledger.assessor
        )
        return propose(self.state.collection.root, made)

    # How it stands.

    @property
    def revision(self) -> int:
        """A number that grows with every verdict and retraction; take it before a new state is begun."""
        return self._clock

    def refresh(self, state: JudgingState, said: int) -> None:
        """Take a new state, which knows all that was said up to then. The question in view stays."""
        self.state = state
        for place in [place for place, when in self._when.items() if when <= said]:
            del self._when[place], self._said[place]
        if self.pending is None:
            self._next()

    def _say(self, nugget: int, same: str, verdict: bool | None) -> None:
        self._clock += 1
        self._said[nugget, same], self._when[nugget, same] = verdict, self._clock


def _place(pair: PendingPair) -> tuple[int, int, int]:
    return pair.side, pair.nugget, -1 if pair.audit is not None else pair.response


def _must_be_there(state: JudgingState, only: Filter) -> None:
    if not any(map(only, state.key.nuggets)):
        questions = {question.qid for question in state.key.questions}
        if only.qid is not None and only.qid not in questions:
            raise NuggeteerError(f"{only.qid}: no such question")
        raise NuggeteerError(f"{only}: no such nugget")
