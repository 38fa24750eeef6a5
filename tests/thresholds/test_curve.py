"""Pairs that are alike in the curve: what they are rounded to."""

from __future__ import annotations

import numpy as np

from nuggeteer.thresholds.curve import SIZE_STEP, SIZES, SMALLEST, decode_cells, encode_cells
from nuggeteer.thresholds.model import Pairs, size_of


def test_every_length_has_the_size_that_its_own_precision_rounds_to():
    """A response's size is a number in half precision, and so is every step to its level, worked out number by
    number."""
    characters = np.arange(3000)
    sizes = size_of(characters)
    pairs = Pairs(np.zeros(3000), np.arange(3000), sizes)
    levels = [round(float((size - np.float16(SMALLEST)) / np.float16(SIZE_STEP))) for size in sizes]
    expected = SMALLEST + SIZE_STEP * np.clip(levels, 0, SIZES - 1)
    assert (decode_cells(encode_cells(pairs.nugget, pairs)).size == expected).all()
