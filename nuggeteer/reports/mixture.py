"""How many verdicts of each judge and of a person a width takes, and at what price."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from nuggeteer.asking.plan import PERSON, Mixture, VerdictPlan
from nuggeteer.reports.asked import price
from nuggeteer.reports.formatting import UNDEFINED, counted, number
from nuggeteer.reports.json_values import file_name
from nuggeteer.reports.terminal import plain, table


def as_json(plan: VerdictPlan) -> dict[str, Any]:
    """A mixture is null where the width cannot be reached."""
    return {
        "run": file_name(plan.run),
        "against": None if plan.against is None else file_name(plan.against),
        "measure": plan.measure,
        "now": plan.now,
        "width": plan.width,
        "open": plan.open_nuggets,
        "sources": [
            {
                "name": name,
                "checked": plan.checked.get(name),
                "without": _mixture_as_json(plan.without[name]),
                "alone": _mixture_as_json(plan.alone[name]),
            }
            for name in plan.without
        ],
        "best": _mixture_as_json(plan.best),
    }


def _mixture_as_json(mixture: Mixture | None) -> dict[str, Any] | None:
    if mixture is None:
        return None
    shares = [
        {"name": share.name, "calls": share.calls, "verdicts": share.verdicts, "price": share.price}
        for share in mixture.shares
    ]
    return {"price": mixture.price, "width": mixture.width, "shares": shares}


def draw(out: Console, plan: VerdictPlan) -> None:
    """The cheapest mixture, and what it would be without each source."""
    names = plan.run if plan.against is None else f"{plan.against} → {plan.run}"
    out.print(
        plain(
            f"{names}: guesses alone make the interval of {plan.measure} {number(plan.now)} wide. "
            f"Open: {counted(plan.open_nuggets, 'nugget')}."
        )
    )
    if plan.now <= plan.width:
        out.print("That is narrow enough.")
        return
    out.print(plain(f"To make it {number(plan.width)} wide:"))
    out.print()
    sources = list(plan.without)
    ways: list[tuple[str, Mixture | None]] = [("cheapest", plan.best)]
    ways += [(f"without {'a ' * (name == PERSON)}{name}", plan.without[name]) for name in sources]
    ways += [(f"only {name}", plan.alone[name]) for name in sources if len(sources) > 2]
    columns = [("", "left"), *((f"{name} verdicts", "right") for name in sources), ("price", "right")]
    rows: list[list[str | Text]] = []
    for title, mixture in ways:
        verdicts = {share.name: share.verdicts for share in mixture.shares} if mixture else {}
        cells = [f"{verdicts[name]:,}" if verdicts.get(name) else UNDEFINED for name in sources]
        rows.append([plain(title), *cells, price(mixture.price) if mixture else "impossible"])
    out.print(table("", columns, rows))
    out.print()
    checks = [f"{name}, {counted(count, 'verdict')}" for name, count in plan.checked.items()]
    if checks:
        out.print(plain(f"What a judge is worth is known from pairs that people have judged too: {'; '.join(checks)}."))
    if PERSON in sources:
        judges = ", and the judges to err independently of each other" if len(sources) > 2 else ""
        out.print(f"A person's verdict is taken to be right{judges}.")
