"""A yard for the tests of kills and failing system calls."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.attack.victims import Yard


@pytest.fixture(scope="package")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    with Yard(tmp_path_factory.mktemp("yard")) as made:
        yield made
