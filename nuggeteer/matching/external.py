"""Match scores of somebody else, from a file (`formats.matches`): an LLM judge's scores or verdicts, for one.

They are not believed, but calibrated against human verdicts as any other scores are. A pair that humans decided needs
no score; it then takes no part in the calibration. A pair that is to be guessed and has none is an error: another
matcher's score in its place would mean something else.
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
