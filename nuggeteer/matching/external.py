"""Match scores from a file that another program wrote (`formats.matches`), for example an LLM judge.

They are calibrated against human verdicts like all other scores. A pair with a human verdict needs no score; without
one it is not used in the calibration. A pair to be guessed must have a score, because scores of another matcher in its
place would have another meaning.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

import numpy as np

from nuggeteer.errors import InputError, NuggeteerError, Problem
from nuggeteer.formats.matches import read_matches
from nuggeteer.matching.base import Material
from nuggeteer.matching.remembered import Remembered
from nuggeteer.pairs import ragged


def make(material: Material) -> Remembered:
    key, name = material.key, material.settings.external
    if not name:
        raise NuggeteerError('the matcher external reads scores from a file: name it, [match] external = "FILE"')
    problems: list[Problem] = []
    matches = read_matches(Path(name), key, problems)
    if any(problem.severity == "error" for problem in problems):
        raise InputError(problems)
    row: dict[tuple[int, str], int] = {}
    for asked, _, text, _ in matches:
        row.setdefault((asked, text), len(row))
    question = np.array([asked for asked, _ in row], dtype=np.int32)
    begin, _ = ragged(key.offsets[question], key.counts[question])
    scores = np.full(int(begin[-1]), np.nan)
    digest = blake2b(digest_size=4)
    for asked, nugget, text, score in sorted(matches, key=lambda match: (match[1], match[2])):
        scores[begin[row[asked, text]] + nugget - key.offsets[asked]] = score
        digest.update(f"{nugget}\t{text}\t{score!r}\n".encode("utf-8", "surrogatepass"))
    texts = [text for _, text in row]
    return Remembered(key, f"external({digest.hexdigest()})", texts, question, scores, tuple(map(str, problems)))
