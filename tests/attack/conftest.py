"""A nursery for the tests of kills and failing system calls."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.attack.victims import Nursery


@pytest.fixture(scope="package")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with Nursery(tmp_path_factory.mktemp("nursery")) as made:
        yield made
