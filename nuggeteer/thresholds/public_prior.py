"""What public collections say about clues and spreads; `python experiments/prior.py` writes it."""

from typing import Final

BY_WORDS: Final[dict[str, tuple[float, float]]] = {
    "one": (-2.04, 2.542),
    "window": (6.517, 1.747),
    "order": (0.593, 0.681),
    "density": (0.779, 0.868),
    "asked": (-2.322, 1.525),
    "names": (-1.142, 0.537),
    "numbers": (-0.849, 0.734),
    "responses": (0.755, 0.517),
    "size": (0.444, 0.791),
    "hint": (4.0, 3.0),
    "carried": (4.0, 3.0),
}
BY_SCORE: Final[dict[str, tuple[float, float]]] = {
    "one": (-1.484, 2.18),
    "root": (5.937, 1.513),
    "score": (2.017, 2.505),
    "responses": (0.817, 0.566),
    "size": (0.182, 0.596),
    "hint": (4.0, 3.0),
    "carried": (4.0, 3.0),
}
JUDGE: Final[dict[str, tuple[float, float]]] = {"weight": (1.9, 0.7), "level": (-0.5, 0.9), "correlation": (0.44, 0.0)}
SPREADS: Final[tuple[float, float, float, float, float]] = (1.653, 0.704, 0.201, 0.4, 0.8)
FEW: Final = 1.5
CHANGE: Final[dict[str, tuple[float, float, float, float]]] = {
    "words": (3.38, 0.189, 0.094, 0.045),
    "judges": (1.774, 0.181, 0.094, 0.086),
}
