"""What changed between two runs, in words: for every report that shows changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from nuggeteer.comparing.changes import Delta, NuggetChange
from nuggeteer.comparing.diff import Diff
from nuggeteer.comparing.gate import Ruling, signed
from nuggeteer.comparing.sightings import Sighting
from nuggeteer.reports.formatting import chance, difference_of, listed, signed_span
from nuggeteer.reports.passages import beginning, excerpt
from nuggeteer.text import escaped

if TYPE_CHECKING:
    from nuggeteer.history.causes import Causes

DOUBTFUL = 0.1  # less probable nuggets are taken as absent

SIGNS = {"PASS": "✓", "FAIL": "✗", "UNDECIDED": "?"}  # so that nobody depends on the colour


def difference(delta: Delta) -> str:
    """The change, as the gates and the history have it. It may differ in the last digit from the difference of the two
    printed scores."""
    return difference_of(delta.interval.value)


def difference_span(delta: Delta) -> str:
    return signed_span(delta.interval.low, delta.interval.high)


def causes_in_words(causes: Causes) -> str:
    """Why the score is not the one that was recorded."""
    then, now = (", ".join(judges) or "none" for judges in (causes.judges_then, causes.judges_now))
    parts = [("the build", causes.build), ("the judges", causes.judges), ("people's new verdicts", causes.verdicts)]
    if abs(causes.rest) >= 0.0005:
        parts.append(("version, key and settings", causes.rest))
    said = ", ".join(f"{signed(value)} {what}" for what, value in parts)
    recorded = f"{causes.run} was recorded with {causes.recorded:.3f} on {causes.time[:10]}"
    return f"{recorded} (judges then: {then}; now: {now}). Of the change since then, {signed(causes.change)}: {said}."


def nuggets_in_words(result: Diff) -> Iterator[str]:
    """How many changes are more probable than not, and how many are expected in all."""

    def counted(kind: str, found: Sequence[NuggetChange]) -> str:
        vital, forbidden = (sum(getattr(c, what) for c in found) for what in ("vital", "forbidden"))
        opposed = sum(change.contradicted for change in found)
        which = f"{vital} vital" + (f", {forbidden} forbidden" if forbidden else "")
        which += f", {opposed} contradicted" if opposed else ""
        return f"{len(found)} {kind}" + (f" ({which})" if found else "")

    kept = f"{len(result.kept)} kept" + (f", {len(result.doubtful)} perhaps changed" if result.doubtful else "")
    yield f"Nuggets: {counted('gained', result.gained)}, {counted('lost', result.lost)}, {kept}."
    gained, lost = result.expected_gained, result.expected_lost
    if (
        gained is not None
        and lost is not None
        and not all(c.known for c in (*result.gained, *result.lost, *result.kept))
    ):
        yield f"Counting every guess by its chance: about {gained:.0f} gained, {lost:.0f} lost."


def by_news(result: Diff) -> list[tuple[str, tuple[NuggetChange, ...]]]:
    """The nuggets lost and gained under their titles, the worst first. What is forbidden stands apart: gaining it is
    not a gain."""
    wanted = [tuple(change for change in found if not change.forbidden) for found in (result.lost, result.gained)]
    dropped = tuple(change for change in result.lost if change.forbidden)
    opposed = tuple(change for change in wanted[0] if change.contradicted)
    return [
        ("Lost and contradicted", opposed),
        ("Forbidden, and now claimed", result.claimed),
        ("Lost", wanted[0][len(opposed) :]),
        ("Gained", wanted[1]),
        ("Forbidden, and no longer claimed", dropped),
    ]


def worth(change: NuggetChange, measure: str) -> str:
    """What a change adds to the score of its question."""
    rises = (change.kind == "lost") == (change.effect < 0)
    return f"{measure} {'+' if rises else '−'}{abs(change.effect):.3f}"


def texts_in_words(result: Diff) -> Iterator[str]:
    """What changed in the answers apart from the nuggets."""
    same, total = int(result.identical.sum()), len(result.identical)
    yield f"Answers: {same} of {total} have the same texts in both runs."
    for which, what in (
        (result.emptied, "no longer answered"),
        (result.answered_anew, "answered now, but not before"),
    ):
        if len(which):
            yield f"{what[0].upper()}{what[1:]}: {listed([result.key.questions[i].qid for i in which])}."
    for which, what in ((result.grown, "Much longer"), (result.shrunk, "Much shorter")):
        if len(which):
            grew = [
                f"{result.key.questions[i].qid} ({result.old.length[i]:,} → {result.new.length[i]:,} characters)"
                for i in which
            ]
            yield f"{what}, which changes precision: {listed(grew, 3)}."


def sureness(change: NuggetChange) -> Text:
    """How certain a change is."""
    if change.known:
        return Text("known")
    return Text("guessed" if change.probability is None else f"{chance(change.probability)} sure", "italic yellow")


def verdict(sighting: Sighting) -> Text:
    """A word if the verdict is known, a probability if it is guessed."""
    word = "yes" if sighting.found else "opposite" if sighting.contradicted else "no"
    if sighting.known or sighting.contradicted:
        return Text(word, "bold red" if sighting.contradicted else "bold")
    if sighting.probability is None:
        return Text(f"{word}?", "italic yellow")
    return Text(chance(sighting.probability), "italic yellow")


def absence(sighting: Sighting, answered: bool = True) -> str:
    """What stands in place of a passage if no response has a word of the nugget. A guess may still be high: other
    answers that had none of the words turned out to have the nugget."""
    if not answered:
        return "no answer"
    unsure = not sighting.known and sighting.probability is not None and sighting.probability >= DOUBTFUL
    return "none of its words, but perhaps in others" if unsure else "nothing like it"


def in_words(change: NuggetChange, size: int = 240) -> list[str]:
    """A change as plain lines without control characters: the nugget, and then the two answers."""
    name = escaped(f"{change.question.qid}/{change.nugget.nugget}")
    lines = [f"{name}, {change.nugget.importance}, {sureness(change)}: {beginning(change.nugget.descriptions[0])}"]
    for label, sighting in (("old", change.old), ("new", change.new)):
        words = absence(sighting)
        if sighting.passage is not None:
            words = "".join(f"«{piece}»" if marked else piece for piece, marked in excerpt(sighting.passage, size))
        lines.append(f"{label} ({verdict(sighting)}): {words}")
    return lines


def in_lines(ruling: Ruling) -> list[str]:
    """A ruling as every door prints it: the decision with its reason, and what stands beside it."""
    return [f"{ruling.title}: {ruling.reason}", *ruling.remarks]
