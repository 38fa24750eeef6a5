"""The nuggetizer with its model, where both are."""

from __future__ import annotations

import pytest

from nuggeteer.gale.nuggetizer import Nuggetizer
from nuggeteer.gale.parser import NoParser


@pytest.fixture(scope="session")
def nuggetizer() -> Nuggetizer:
    pytest.importorskip("spacy")
    try:
        return Nuggetizer()
    except NoParser as missing:
        pytest.skip(str(missing))
