"""The plugin of pytest: the fixture `nuggets`, its option, and its lines in the summary.

pytest loads this module in every run of an environment with nuggeteer. So it imports nothing of it, and has no hook
that runs for each test, until a test asks for the fixture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from nuggeteer.testing import Nuggets

PROPERTY = "nuggeteer"  # of a test's report: also in JUnit XML, and carried from the workers of pytest-xdist


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("nuggeteer", "nuggets in answers").addoption(
        "--nuggets-collection",
        metavar="DIR",
        help="the collection of the fixture nuggets (default: the nearest folder upwards that holds nuggets.jsonl)",
    )


@pytest.fixture(scope="session")
def nuggets(request: pytest.FixtureRequest) -> Nuggets:
    """The collection of --nuggets-collection: scores of runs, what changed, assertions (nuggeteer.testing.Nuggets)."""
    from nuggeteer.collection.names import find_collection
    from nuggeteer.errors import NuggeteerError
    from nuggeteer.testing import Nuggets

    config = request.config
    folder, given = config.invocation_params.dir, config.getoption("--nuggets-collection")
    if given:
        # An option in the settings of a project is meant from the project's root, wherever pytest is started.
        folder = folder / given if (folder / given).exists() else config.rootpath / given
    problem = ""
    try:
        found = Nuggets(folder if given else find_collection(folder))
    except NuggeteerError as error:
        problem = str(error).replace("--collection", "--nuggets-collection")
    if problem:  # outside of the handler, or pytest would show both
        pytest.fail(problem, pytrace=False)
    config.pluginmanager.register(_Recorder(found))
    return found


class _Recorder:
    """Gives what a test has found out to its report."""

    def __init__(self, nuggets: Nuggets) -> None:
        self._nuggets = nuggets

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> None:
        item.user_properties += [(PROPERTY, line) for line in self._nuggets.lines]
        self._nuggets.lines.clear()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    lines = list(dict.fromkeys(_recorded(terminalreporter.stats)))
    if lines:
        terminalreporter.section("nuggets")
        for line in lines:
            terminalreporter.write_line(line)


def _recorded(stats: dict[str, list[Any]]) -> Iterator[str]:
    """The lines of all tests; the last report of a test has them all. Whatever else stands among its properties is of
    other tests and plugins."""
    for reports in stats.values():
        for report in reports:
            if getattr(report, "when", None) == "teardown":
                for one in getattr(report, "user_properties", ()):
                    match one:
                        case (name, str(line)) if name == PROPERTY:
                            yield line
