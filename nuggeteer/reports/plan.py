"""How many verdicts of each judge and of a person a width takes, and at what price."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Annotated, Any

from msgspec import field
from rich.console import Console

from nuggeteer.asking.narrowing import PERSON, Mixture, VerdictPlan
from nuggeteer.fields import Count, Number, Part, about, copied
from nuggeteer.reports.asked import price
from nuggeteer.reports.formatting import UNDEFINED, counted, number
from nuggeteer.reports.terminal import left, right, say, table


class PlanSource(Part):
    """A source of verdicts."""

    name: Annotated[str, about("A judge, or `person`.")]
    checked: Annotated[
        Count | None,
        about("How many nuggets people have judged of those that the judge has read; null for a person."),
    ]
    without: Annotated[
        Mixture | None, about("The cheapest mixture without this source; null if none reaches the width.")
    ]
    alone: Annotated[Mixture | None, about("The cheapest of it alone; null if none reaches the width.")]


class PlanOutput(Part):
    """How many verdicts of each source a width takes, and at what price."""

    run: str
    against: str | None
    measure: str
    now: Annotated[Number, about("How wide the guesses make the interval.")]
    width: Annotated[float, about("How wide it is to be.")]
    open_nuggets: Annotated[Count, about("Nuggets whose verdicts would narrow it.")] = field(name="open")
    sources: Sequence[PlanSource]
    best: Annotated[
        Mixture | None, about("The cheapest mixture that is expected to reach the width; null if none does.")
    ]


def as_json(plan: VerdictPlan) -> dict[str, Any]:
    return copied(
        PlanOutput,
        plan,
        sources=[
            PlanSource(
                name=name,
                checked=plan.checked.get(name),
                without=plan.without[name],
                alone=plan.alone[name],
            )
            for name in plan.without
        ],
    ).as_data()


def draw(out: Console, plan: VerdictPlan) -> None:
    """The cheapest mixture, and what it would be without each source."""
    names = plan.run if plan.against is None else f"{plan.against} → {plan.run}"
    wide = f"guesses alone make the interval of {plan.measure} {number(plan.now)} wide"
    say(out, f"{names}: {wide}. Open: {counted(plan.open_nuggets, 'nugget')}.")
    if plan.now <= plan.width:
        say(out, "That is narrow enough.")
        return
    say(out, f"To make it {number(plan.width)} wide:", "")
    sources = list(plan.without)
    ways: list[tuple[str, Mixture | None]] = [("cheapest", plan.best)]
    if len(sources) > 1:
        ways += [(f"without {'a ' * (name == PERSON)}{name}", plan.without[name]) for name in sources]
    ways += [(f"only {name}", plan.alone[name]) for name in sources if len(sources) > 2]
    heads = [f"{name} {'minutes' if name == PERSON else 'verdicts'}" for name in sources]
    judged = sources != [PERSON]  # a person's minutes alone need no price
    sheet = table("", left("") + right(*heads, *["price"] * judged))
    for title, mixture in ways:
        cost = [price(mixture.price) if mixture else "impossible"]
        sheet.add_row(title, *(_work(mixture, name) for name in sources), *cost * judged)
    out.print(sheet)
    out.print()
    checks = [f"{name}, {counted(count, 'verdict')}" for name, count in plan.checked.items()]
    if checks:
        say(out, f"What a judge is worth is known from pairs that people have judged too: {'; '.join(checks)}.")
    if PERSON in sources:
        trust = "A person's verdict is taken to be right"
        trust += ", and the judges to err independently of each other" if len(sources) > 2 else ""
        say(out, f"A person reads answers in the order of nuggeteer judge. {trust}.")


def _work(mixture: Mixture | None, name: str) -> str:
    """What a source does: verdicts of a judge; of a person minutes of reading."""
    share = next((share for share in mixture.shares if share.name == name), None) if mixture else None
    if share is None or not share.verdicts:
        return UNDEFINED
    return f"{max(ceil(share.minutes or 0), 1) if name == PERSON else share.verdicts:,}"
