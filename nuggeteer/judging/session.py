"""A person judging a run: what is asked, what each key does, and how to take it back. Screens show it.

What is asked at once is a card: one answer, with the nuggets of it that are open. Every verdict is on disk before the
screen says so. The ledger is the only state, so an interrupted session is continued by starting a new one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

from nuggeteer.collection.ledger import Ledger
from nuggeteer.collection.proposals import Proposal, propose
from nuggeteer.errors import NuggeteerError
from nuggeteer.judging.cards import Card, Filter, ShownNugget, ShownResponse, check_filter
from nuggeteer.judging.state import AnswerCard, JudgingState, SessionVerdicts
from nuggeteer.matching.marks import Span
from nuggeteer.records import Importance, Judgement

NOTHING_LEFT = "there is nothing left to judge"


@dataclass(frozen=True)
class _Step:
    """What one key press wrote, and for which card and nugget."""

    card: AnswerCard | None
    nugget: int
    judgements: tuple[Judgement, ...]


@dataclass
class Session:
    """Asks one assessor about one subject.

    `state` may be older than the last verdicts, which `verdicts` has too, until a newer state arrives (`refresh`).
    `audit` has the cards of an audit, in its order. With `pairs`, a card is one response and one nugget. A sitting of
    `minutes` ends with the card that is in view then. `judged` counts the verdicts of this session, `total` all of the
    assessor's on these runs that stand.

    In view are the card `asked`, its `nugget`, and the response that is `marked`, which a yes is then about. The cards
    of each state are gone through once, so a verdict takes no longer after thousands than at first."""

    state: JudgingState
    ledger: Ledger
    filter: Filter = field(default_factory=Filter)
    audit: Sequence[AnswerCard] | None = None
    pairs: bool = False
    minutes: float | None = None
    clock: Callable[[], float] = time.monotonic
    asked: AnswerCard | None = field(default=None, init=False)
    nugget: int = field(default=-1, init=False)
    marked: int | None = field(default=None, init=False)
    reason: str | None = field(default=None, init=False)
    shown: bool = field(default=False, init=False)
    judged: int = field(default=0, init=False)
    total: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.verdicts = SessionVerdicts(self.state)
        self._steps: list[_Step] = []
        self._skipped: list[AnswerCard] = []  # in the order of skipping
        self._began = self.clock()
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
        """The card for the assessor; None when nothing is left to ask."""
        if self.asked is None:
            return None
        side, question, state = self.asked.side, self.asked.question, self.state
        run, key = state.run(side), state.key
        positions = state.responses(side, question)
        answer = tuple(
            ShownResponse(
                position,
                run.texts[position],
                run.docid(position),
                rank,
                () if self.blind else state.marks(run.texts[position], self.nugget),
                self.verdicts.on_response(side, self.nugget, position),
            )
            for rank, position in enumerate(positions, 1)
        )
        own = {self.verdicts.form(response.text) for response in answer}
        examples = tuple(
            (text, state.marks(text, self.nugget))
            for same, text in state.examples(self.nugget).items()
            if same not in own and self.verdicts.is_yes_still(self.nugget, same)
        )
        explanation = None
        if self.shown:
            about = state.best_response(side, self.nugget) if self.marked is None else self.marked
            explanation = state.explanation(run.texts[about], self.nugget)
        return Card(
            key.questions[question],
            state.titles[side],
            answer,
            tuple(self._shown_nuggets()),
            self.asked.nuggets.index(self.nugget),
            None if self.marked is None else self.marked - positions.start,
            examples,
            self.blind,
            state.guess(side, self.nugget) if self.shown else None,
            explanation,
            self.reason,
        )

    def _shown_nuggets(self) -> Iterator[ShownNugget]:
        """The nuggets that are asked, and then those of the question that were known before."""
        assert self.asked is not None
        key, asked = self.state.key, self.asked
        words = {self.verdicts.pair(j)[0]: j.word for step in self._own_steps() for j in step.judgements}
        for nugget in asked.nuggets:
            yield ShownNugget(key.nuggets[nugget], words.get(nugget) or self._word(nugget), True)
        if asked.response is None:
            for nugget in self.state.known(asked.side, asked.question):
                if nugget not in asked.nuggets:
                    yield ShownNugget(key.nuggets[nugget], self._word(nugget), False)

    def _word(self, nugget: int) -> str | None:
        assert self.asked is not None
        known = self.verdicts.on_answer(self.asked.side, nugget)
        return None if known is None else "yes" if known else "no"

    @property
    def blind(self) -> bool:
        """Whether the guess must stay hidden."""
        return self.audit is not None

    def left(self) -> int:
        """How many units of the audit are not settled."""
        return sum(bool(self._open(card)) for card in self.audit or ())

    @property
    def audit_minutes(self) -> float:
        """What reading these is likely to take."""
        return sum(self.state.seconds(replace(card, nuggets=self._open(card))) for card in self.audit or ()) / 60

    @property
    def open_nuggets(self) -> tuple[int, ...]:
        """Those of the card in view."""
        return () if self.asked is None else self._open(self.asked)

    @property
    def minutes_left(self) -> float | None:
        """Of the sitting; None if it has no end."""
        return None if self.minutes is None else max(self.minutes - (self.clock() - self._began) / 60, 0.0)

    @property
    def is_over(self) -> bool:
        """Whether the time of the sitting is over, and the last card done."""
        return self.asked is None and self.minutes_left == 0

    def _in_order(self) -> Iterator[AnswerCard]:
        if self.audit is not None:
            return iter(self.audit)
        return self.state.pairs() if self.pairs else self.state.answers()

    def _start_over(self) -> None:
        """Go through all cards from the first."""
        self._waiting = self._in_order()

    def _open(self, card: AnswerCard) -> tuple[int, ...]:
        """The nuggets of a card to ask about."""
        nuggets, key = card.nuggets, self.state.key.nuggets
        return tuple(n for n in nuggets if self.filter(key[n]) and self.verdicts.is_open(card, n))

    def _next(self) -> None:
        """Go on to the first open card. What was skipped comes back when nothing else is left."""
        before, later = self.asked, {one for card in self._skipped for one in _named(card)}
        for card in self._waiting:
            if nuggets := tuple(one for one in self._open(card) if (card.side, one, card.response) not in later):
                return self._go_to(replace(card, nuggets=nuggets), before)
        for card in self._skipped:
            if nuggets := self._open(card):
                return self._go_to(replace(card, nuggets=nuggets), before)
        self._go_to(None)

    def _go_to(self, card: AnswerCard | None, before: AnswerCard | None = None, nugget: int | None = None) -> None:
        """A sitting ends when its time is over, but not between the answers to one question."""
        if card is not None and self.minutes_left == 0 and before is not None and before.question != card.question:
            card = None
        self.asked, self.reason = card, None
        self._look_at(-1 if card is None else card.nuggets[0] if nugget is None else nugget)

    def _look_at(self, nugget: int) -> None:
        self.nugget, self.shown = nugget, False
        self.marked = None if self.asked is None else self.asked.response

    # What the assessor does.

    def judge(self, verdict: bool, contradicts: bool = False, span: Span | None = None) -> list[Judgement]:
        """Write a verdict on the nugget in view, and look at the next. It is about the answer: a no says that no
        sentence of it has the nugget. A yes is about the response that is marked, if one is, and `span` is the part of
        its text that carries the nugget. A no may say that the answer `contradicts` the nugget; the marked response
        then does. A verdict of this session on this card is taken back first."""
        asked, nugget = self._in_view(), self.nugget
        own = [j for step in self._own_steps() for j in step.judgements if self.verdicts.pair(j)[0] == nugget]
        card = asked if asked.response is None else replace(asked, response=self.marked)
        if not own and not self.verdicts.is_open(card, nugget):
            raise NuggeteerError("this is judged already; u takes your last verdict back")
        for judgement in own:
            self._retract(judgement)
        kept = [replace(step, judgements=tuple(j for j in step.judgements if j not in own)) for step in self._steps]
        self._steps = [step for step in kept if step.judgements]
        return self._write(
            [(nugget, response) for response in self._about(verdict, contradicts)], verdict, contradicts, span
        )

    def _own_steps(self) -> list[_Step]:
        """What was judged on the card in view."""
        return list(takewhile(lambda step: step.card == self.asked, reversed(self._steps)))[::-1]

    def _about(self, verdict: bool, contradicts: bool) -> list[int | None]:
        """The responses that a verdict on the nugget in view is about; None is the whole answer."""
        asked = self._in_view()
        only = self._only_response(asked)
        if self.marked is None or only is not None:
            return [only]
        if verdict or asked.response is not None:
            return [self.marked]
        return [self.marked, None] if contradicts else [None]

    def judge_others(self) -> list[Judgement]:
        """Write a no on every nugget of the card that is open: no sentence of the answer has it."""
        asked = self._in_view()
        if not (nuggets := self._open(asked)):
            raise NuggeteerError("every nugget of this answer is judged already")
        return self._write([(nugget, self._only_response(asked)) for nugget in nuggets], False)

    def _in_view(self) -> AnswerCard:
        if self.asked is None:
            raise NuggeteerError(NOTHING_LEFT)
        return self.asked

    def _only_response(self, card: AnswerCard) -> int | None:
        responses = self.state.responses(card.side, card.question)
        return responses[0] if len(responses) == 1 else None

    def _write(
        self,
        about: Sequence[tuple[int, int | None]],
        verdict: bool,
        contradicts: bool = False,
        span: Span | None = None,
    ) -> list[Judgement]:
        """Write a verdict on each of some nuggets and a response, or the whole answer (None), and go on."""
        asked = self._in_view()
        run = self.state.run(asked.side)
        written = self.ledger.extend(
            [
                Judgement(
                    self.state.key.nuggets[nugget].qid,
                    self.state.key.nuggets[nugget].nugget,
                    run.answer(asked.question) if response is None else run.texts[response],
                    verdict,
                    docid=None if response is None else run.docid(response),
                    run=run.name,
                    reason=self.reason,
                    span=list(span) if span and response is not None else None,
                    scope="answer" if response is None else "response",
                    contradicts=contradicts,
                    run_hash=self.state.run_hashes[asked.side],
                    nugget_hash=self.state.key.nuggets[nugget].hash,
                    extra=self._extra(asked, nugget),
                )
                for nugget, response in about
            ]
        )
        self._steps.append(_Step(asked, self.nugget, tuple(written)))
        self._count(len(written))
        for judgement in written:
            self.verdicts.remember(judgement, verdict)
        self.reason = None
        if len(asked.nuggets) == 1:
            self._next()
        else:
            self._look_at(self._next_open(asked))
        return written

    def _next_open(self, asked: AnswerCard) -> int:
        """The next open nugget of the card, from the one in view on; the one in view if there is none."""
        at = asked.nuggets.index(self.nugget)
        following = (*asked.nuggets[at + 1 :], *asked.nuggets[:at])
        return next((nugget for nugget in following if self.verdicts.is_open(asked, nugget)), self.nugget)

    def _extra(self, asked: AnswerCard, nugget: int) -> dict[str, Any]:
        """What is recorded with a verdict: the guess of the tool, and whether the assessor saw it; in an audit, the
        draw."""
        if asked.audit is not None:
            return {"source": "judge", "audit": dict(asked.audit)}
        probability, score = self.state.guess(asked.side, nugget)
        shown = self.shown and nugget == self.nugget
        return {"guess": {"probability": probability, "score": score, "shown": shown}, "source": "judge"}

    def next(self) -> None:
        """Go on to the next card."""
        if left := len(self._open(self._in_view())):
            those = "1 nugget is" if left == 1 else f"{left} nuggets are"
            raise NuggeteerError(f"{those} open: a says no to all of them, s leaves them for later")
        self._next()

    def skip(self) -> None:
        """Leave what is open on the card for later; skipped cards come last."""
        if self.asked is not None:
            self._skipped = [card for card in self._skipped if not _named(card) & _named(self.asked)]
            self._skipped.append(self.asked)  # to the end of those skipped
            self._next()

    def undo(self) -> tuple[Judgement, ...]:
        """Retract what the last key press wrote, and go back to its card. When this session has nothing left to
        retract, take the assessor's last verdict on this subject from an earlier session. Returns what was
        retracted."""
        step = self._steps[-1] if self._steps else self._earlier()
        if step is None:
            return ()
        for judgement in step.judgements:
            self._retract(judgement)
        if self._steps:
            self._steps.pop()
        if step.card is not None:
            self._start_over()
            self._go_to(step.card, nugget=step.nugget)
        return step.judgements

    def _retract(self, judgement: Judgement) -> None:
        self.ledger.retract(judgement)
        self.verdicts.remember(judgement, None)
        if any(judgement in step.judgements for step in self._steps):
            self._count(-1)
        else:
            self.total -= 1

    def _earlier(self) -> _Step | None:
        runs = [matched.run.name for matched in self.state.matched_runs]
        own = [
            judgement
            for judgement in self.state.collection.judgements
            if judgement.assessor == self.ledger.assessor
            and judgement.extra.get("source") == "judge"
            and judgement.run in runs
            and not self.verdicts.is_taken_back(judgement)
        ]
        if not own:
            return None
        last = max(own, key=lambda judgement: judgement.at or "")
        nugget, form = self.verdicts.pair(last)
        side, question = runs.index(last.run or ""), int(self.state.key.question[nugget])
        run = self.state.run(side)
        places = {self.verdicts.form(run.texts[p]): p for p in reversed(self.state.responses(side, question))}
        if form.removeprefix("\n") not in {
            *places,
            self.verdicts.form(run.answer(question)),
        }:  # the run has changed since
            return _Step(None, -1, (last,))
        drawn = next((card for card in self.audit or () if nugget in card.nuggets), None)
        response = places.get(form) if self.pairs else None
        return _Step(drawn or AnswerCard(side, question, (nugget,), response), nugget, (last,))

    def move(self, by: int) -> bool:
        """Look at the nugget before or after; False if there is none in that direction."""
        if self.asked is None:
            return False
        place = self.asked.nuggets.index(self.nugget) + by
        if inside := 0 <= place < len(self.asked.nuggets):
            self._look_at(self.asked.nuggets[place])
        return inside

    def mark(self, response: int | None) -> None:
        """Mark the response of the answer that has the nugget in view, by its place in the answer; None marks none."""
        asked = self._in_view()
        positions = self.state.responses(asked.side, asked.question)
        if response is not None and len(positions) == 1:
            raise NuggeteerError("this answer is one response; m marks words in it")
        self.marked = None if response is None else positions[min(max(response, 0), len(positions) - 1)]

    def show_guess(self) -> None:
        """Show the guess of the tool. The verdict will record that it was shown."""
        if self.blind:
            raise NuggeteerError("an audit is blind: the guess stays hidden")
        if not self.verdicts.is_open(self._in_view(), self.nugget):
            raise NuggeteerError("this is judged already: there is no guess")
        self.shown = True

    def narrow(self, only: Filter) -> None:
        """Ask only about some questions or nuggets."""
        if self.audit is not None:
            raise NuggeteerError("an audit asks in the order that was drawn")
        check_filter(self.state, only)
        self.filter = only
        self._start_over()
        self._next()

    def propose(self, text: str, importance: Importance) -> Proposal:
        """Record a fact that is in the answer in view and belongs there, but is not in the key. If a response is
        marked, the fact is in it."""
        asked = self._in_view()
        run = self.state.run(asked.side)
        response = self._only_response(asked) if self.marked is None else self.marked
        source = run.answer(asked.question) if response is None else run.texts[response]
        docid = None if response is None else run.docid(response)
        qid = self.state.key.questions[asked.question].qid
        made = Proposal(qid, text, importance, source, run.name, docid, self.ledger.assessor)
        return propose(self.state.collection.root, made)

    # Newer states.

    @property
    def revision(self) -> int:
        """A number that grows with every verdict and retraction. Take it before reading a new state."""
        return self.verdicts.revision

    def refresh(self, state: JudgingState, revision: int) -> None:
        """Take over a new state, which has all verdicts up to `revision`. The card in view stays."""
        self.state = state
        self.verdicts.take_over(state, revision)
        self._start_over()
        if self.asked is None and not self.is_over:
            self._next()

    def _count(self, verdicts: int) -> None:
        self.judged += verdicts
        self.total += verdicts


def _named(card: AnswerCard) -> set[tuple[int, int, int | None]]:
    return {(card.side, nugget, card.response) for nugget in card.nuggets}
