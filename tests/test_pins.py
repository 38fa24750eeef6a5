"""The packages of the tests are pinned with their hashes (tests/packages.txt, made by scripts/pin)."""

from __future__ import annotations

import re
import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PINNED = (ROOT / "tests" / "packages.txt").read_text()
PINS = re.findall(r"^(?!#)(\S.*?) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", PINNED, re.MULTILINE)
SYSTEMS = [
    {"python_version": python, "python_full_version": f"{python}.9", "sys_platform": system}
    for python in ("3.11", "3.12", "3.13", "3.14")
    for system in ("linux", "darwin", "win32")
]


def wanted():
    """Everything that pyproject.toml asks for, in the project, its extras and the groups of developers."""
    listed = [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"]]
    for extra in PROJECT["project"]["optional-dependencies"].values():
        listed += extra
    for group in PROJECT["dependency-groups"].values():
        listed += [line for line in group if isinstance(line, str)]
    return [one for one in map(Requirement, listed) if one.name != "nuggeteer"]


def test_every_dependency_has_one_pin_that_fits_wherever_it_is_needed():
    pins = [Requirement(pin) for pin, _ in PINS]
    for requirement in wanted():
        own = [pin for pin in pins if canonicalize_name(pin.name) == canonicalize_name(requirement.name)]
        for system in SYSTEMS:
            if requirement.marker is None or requirement.marker.evaluate(system):
                (found,) = [pin for pin in own if pin.marker is None or pin.marker.evaluate(system)]
                (version,) = found.specifier
                assert version.operator == "=="
                assert requirement.specifier.contains(version.version), f"{requirement}: run scripts/pin"


def test_every_line_is_a_pin_with_hashes_and_names_no_host():
    read = "".join(f"{pin} \\\n{hashes}" for pin, hashes in PINS)
    assert "".join(line for line in PINNED.splitlines(keepends=True) if not line.startswith("#")) == read
    assert not re.search(r"https?:|--index|--find-links|file:", PINNED)
