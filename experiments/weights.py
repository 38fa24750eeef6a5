"""How much disk each dependency takes: python experiments/weights.py > experiments/weights.md

Run it in an environment with the extra `all`. A package's own size is that of its installed files. What it adds is
what would disappear if only that dependency were dropped: the package and everything that nothing else needs.
"""

from __future__ import annotations

import platform
import re
from importlib.metadata import distributions
from pathlib import Path

from packaging.requirements import Requirement

EVERY = {normal: found for found in distributions() if (normal := re.sub(r"[-_.]+", "-", found.name).lower())}


def named(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def required(name: str, extra: str = "") -> list[Requirement]:
    """What a package requires in this environment, with an extra or without."""
    found = map(Requirement, (EVERY[name].requires or []) if name in EVERY else [])
    return [package for package in found if package.marker is None or package.marker.evaluate({"extra": extra})]


def closure(packages: list[Requirement]) -> set[str]:
    """These packages and everything that they require, with their extras."""
    seen: set[tuple[str, str]] = set()
    waiting = [(named(package.name), extra) for package in packages for extra in ("", *package.extras)]
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting += [(named(package.name), extra) for package in required(*one) for extra in ("", *package.extras)]
    return {name for name, _ in seen}


def megabytes(names: set[str]) -> float:
    paths = [Path(str(file.locate())) for name in names & EVERY.keys() for file in EVERY[name].files or []]
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def row(package: Requirement, others: set[str]) -> str:
    adds, name = closure([package]) - others, named(package.name)
    return f"| {name} | {megabytes({name}):.0f} | {megabytes(adds):.0f} | {len(adds)} |"


def main() -> None:
    default = required("nuggeteer")
    whole = closure(default)
    print("# What the dependencies weigh\n")
    system = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    print(f"Megabytes on disk, by `python experiments/weights.py`; {system}.\n")
    print(f"The default installation: {len(whole)} packages, {megabytes(whole):.0f} MB.\n")
    print("| dependency | itself | what it adds | packages added |\n|---|--:|--:|--:|")
    rows = [(package, closure([other for other in default if other is not package])) for package in default]
    for package, others in sorted(rows, key=lambda pair: -megabytes(closure([pair[0]]) - pair[1])):
        print(row(package, others))
    print("\nNumPy and SciPy add nothing, because other dependencies need them too.\n")
    print("What each extra adds to the default installation:\n")
    print("| extra | packages added | what it adds |\n|---|--:|--:|")
    extras = EVERY["nuggeteer"].metadata.get_all("Provides-Extra") or []
    for extra in extras:
        adds = closure(required("nuggeteer", extra)) - whole - {"nuggeteer"}
        print(f"| {extra} | {len(adds)} | {megabytes(adds):.0f} |")


if __name__ == "__main__":
    main()
