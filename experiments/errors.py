"""What does the matcher `learned` get wrong? Draws errors at random for a person to read, and counts their classes.

    python experiments/errors.py draw REALSUMM TS2014 DIR
    python experiments/errors.py count > experiments/errors.md

`draw` leaves out some groups of systems of each collection in turn, as `crossval` does, and guesses their pairs that
the verdicts on other systems leave unknown. It draws equally many false yes and false no, and writes them to DIR:
`errors.txt` for a reader, and `errors.jsonl` with a line for each error, which names the pair without its text. The
reader writes a `class` into each line, a key of CLASSES. The classified lines are in `recorded/errors.jsonl`, and
`count` counts them.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.matching.base import Material
from nuggeteer.matching.choice import make
from nuggeteer.matching.clues import GramReader
from nuggeteer.scoring.fitting import gather_evidence
from nuggeteer.scoring.known import UNKNOWN, YES, VerdictIndex
from nuggeteer.scoring.matched_run import read
from nuggeteer.scoring.scorer import material
from nuggeteer.text import normalised
from nuggeteer.thresholds.learning import fit_smooth
from nuggeteer.thresholds.prior import prior_for
from nuggeteer.trust.crossval import groups_of, without

SEED = 6
LEFT_OUT = (5, 2)  # groups of each collection
DRAWN = (30, 20)  # false yes from each collection, and equally many false no
FEW = 3  # nuggets with fewer yes texts are counted apart
RECORDED = Path(__file__).parent / "recorded" / "errors.jsonl"
KINDS = ("false yes", "false no")
SURE = (0.3, 0.7)  # a guess between these is unsure
DRAWS = 20_000
CLASSES = {
    "doubtful": "human verdict doubtful",
    "bare": "nugget is a bare name or topic",
    "paraphrase": "the fact in other words",
    "inference": "must be inferred",
    "part": "only part of the fact",
    "scattered": "words scattered over the text",
    "number": "number, name, negation differs",
    "relation": "right words, another relation",
    "topic": "same topic, not the fact",
    "plain": "fact there in its own words",
    "dirty": "dirty text",
}
ACROSS = (f"of all: {SURE[0]} < p < {SURE[1]}", f"of all: fewer than {FEW} yes texts")


@dataclass(frozen=True)
class Error:
    """A wrong guess: its line in `errors.jsonl`, and its page for the reader."""

    row: dict[str, Any]
    page: str


def errors(name: str, collection: Collection, groups: list[str]) -> tuple[list[Error], int]:
    """All wrong guesses in the runs of these groups, each text of an answer once, and the number of guesses."""
    key = collection.key
    truth = VerdictIndex(key, collection.judgements, collection.judged_runs)
    found: list[Error] = []
    guesses = 0
    for group in groups:
        rest = without(collection, group)
        known = VerdictIndex(key, rest.judgements, rest.judged_runs)
        made_from = material(rest, known)
        matcher = make(made_from)
        fit = fit_smooth(gather_evidence(rest, matcher, known), prior_for(matcher.scores_overlap))
        similar = SimilarTexts(made_from)
        for run in collection.judged_runs:
            if collection.group(run.name) != group:
                continue
            matched = read(run, group, key, matcher, known)
            states = truth(run.normalised_texts, run.question)
            asked = np.flatnonzero(matched.undecided & (states != UNKNOWN))
            chance = fit.probability(matched.pairs[asked])
            guesses += len(asked)
            for wrong in np.flatnonzero((chance >= 0.5) != (states[asked] == YES)).tolist():
                response = int(np.searchsorted(matched.begin, asked[wrong], side="right")) - 1
                nugget = key.nuggets[matched.pairs.nugget[asked[wrong]]]
                seen = similar(int(matched.pairs.nugget[asked[wrong]]), run.normalised_texts[response])
                row = {
                    "collection": name,
                    "run": run.name,
                    "qid": nugget.qid,
                    "nugget": nugget.nugget,
                    "docid": run.docid(response),
                    "kind": KINDS[int(states[asked[wrong]] == YES)],
                    "probability": round(float(chance[wrong]), 3),
                    "yes_texts": len(seen.yes),
                }
                page = (
                    f"{name} {run.name} {nugget.qid} {nugget.nugget}: {row['kind']}, p = {row['probability']}, "
                    f"{len(seen.yes)} yes of {seen.judged} others, recall {seen.recall:.2f}\n"
                    f"  NUGGET {' | '.join(nugget.descriptions)}\n  TEXT   {run.texts[response]}\n"
                    + "".join(f"  {cosine:.2f} {verdict} {text}\n" for cosine, verdict, text in seen.nearest)
                )
                found.append(Error(row, page))
        print(f"{name}: {group}: {len(found)} errors of {guesses}", file=sys.stderr, flush=True)
    return found, guesses


@dataclass(frozen=True)
class PairContext:
    """A pair's judged texts of other systems: the rows with a yes, how many were judged, and the most similar ones.
    `recall` is the share of the description's words in the pair's own text."""

    yes: list[int]
    judged: int
    recall: float
    nearest: list[tuple[float, str, str]]


class SimilarTexts:
    """Looks up what a reader should see of a pair among other systems' judged texts."""

    def __init__(self, made_from: Material) -> None:
        self.key, self.judged = made_from.key, made_from.judged
        self.words = GramReader(made_from.idf)
        counts = self.key.counts[self.judged.question]
        self.begin = np.cumsum(counts) - counts

    def __call__(self, nugget: int, text: str) -> PairContext:
        question = int(self.key.question[nugget])
        rows = np.flatnonzero(self.judged.question == question)
        pairs = self.begin[rows] + nugget - self.key.offsets[question]
        decided, yes = self.judged.decided[pairs], self.judged.yes[pairs]
        own = self.words(text)
        described = [self.words(normalised(d)) for d in self.key.nuggets[nugget].descriptions]
        recall = max(
            sum(w for g, w in d.grams.items() if g in own.grams and " " not in g)
            / (sum(w for g, w in d.grams.items() if " " not in g) or 1.0)
            for d in described
        )
        nearest = []
        for wanted, verdict in ((yes & decided, "YES"), (~yes & decided, "no ")):
            likes = [(_cosine(own.grams, self.words(self.judged.texts[i]).grams), i) for i in rows[wanted].tolist()]
            nearest += [(cosine, verdict, self.judged.texts[i]) for cosine, i in sorted(likes, reverse=True)[:1]]
        return PairContext(rows[yes & decided].tolist(), int(decided.sum()), recall, nearest)


def _cosine(one: dict[str, float], two: dict[str, float]) -> float:
    both = sum(w * two[g] for g, w in one.items() if g in two)
    return both / ((sum(w * w for w in one.values()) * sum(w * w for w in two.values())) ** 0.5 or 1.0)


def draw(folders: list[str], out: Path) -> None:
    """Draw errors of each collection at random, equally many false yes and false no."""
    rng = np.random.default_rng(SEED)
    lines, pages = [], []
    for folder, groups, wanted in zip(folders, LEFT_OUT, DRAWN, strict=True):
        collection = read_collection(folder)
        settings = replace(collection.settings, match=replace(collection.settings.match, matcher="learned"))
        collection = replace(collection, settings=settings)
        chosen = rng.permutation(groups_of(collection))[:groups].tolist()
        name = Path(folder).resolve().name
        found, guesses = errors(name, collection, chosen)
        for kind in KINDS:
            of_kind = [error for error in found if error.row["kind"] == kind]
            for i in sorted(rng.permutation(len(of_kind))[:wanted].tolist()):
                lines.append({**of_kind[i].row, "of": len(of_kind), "guesses": guesses, "class": None})
                pages.append(f"[{len(lines)}] {of_kind[i].page}")
    out.mkdir(parents=True, exist_ok=True)
    (out / "errors.txt").write_text("\n".join(pages), encoding="utf-8")
    (out / "errors.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def _called(line: dict[str, Any]) -> tuple[str, ...]:
    """The rows of the table in which an error is counted."""
    doubtful, scarce = ACROSS
    return (
        CLASSES[line["class"]],
        *([doubtful] if SURE[0] < line["probability"] < SURE[1] else []),
        *([scarce] if line["yes_texts"] < FEW else []),
    )


def count() -> None:
    """Print a table of the reader's classes."""
    lines = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
    collections = list(dict.fromkeys(line["collection"] for line in lines))
    strata = [(name, kind) for name in collections for kind in KINDS]
    drawn = {s: [line for line in lines if (line["collection"], line["kind"]) == s] for s in strata}
    print("# A hundred errors of `learned`, read\n")
    print("Made by `python experiments/errors.py count`. The errors were drawn by")
    print("`python experiments/errors.py draw REALSUMM TS2014 DIR` and classified by one reader, who knew both the")
    print("verdict and the guess. They are errors of the matcher of version 0.1.0, which weighed fifteen clues by a")
    print("regression on the collection's own verdicts. Each line keeps the guess of its time. Today's matcher makes")
    print("other errors, so `draw` draws others. Equally many false yes and false no were drawn. The shares of all")
    print("errors are weighted by how many there are of each. In brackets: 95 % intervals (Jeffreys' interval of each")
    print("kind, combined).\n")
    print("| | guesses | false yes | false no |\n|---|---|---|---|")
    for name in collections:
        yes, no = (drawn[name, kind][0] for kind in KINDS)
        print(f"| {name} | {yes['guesses']:,} | {yes['of']:,} | {no['of']:,} |")
    print(f"\n| drawn errors | {' | '.join(f'{name}, {kind}' for name, kind in strata)} |", end="")
    print(
        f" {' | '.join(f'share of {name}' for name in collections)} |\n{'|---' * (1 + len(strata) + len(collections))}|"
    )
    rng = np.random.default_rng(SEED)
    for what in (*CLASSES.values(), *ACROSS):
        hit = {s: sum(what in _called(line) for line in drawn[s]) for s in strata}
        cells = [str(hit[s]) for s in strata]
        for name in collections:
            own = [(name, kind) for kind in KINDS]
            weight = np.array([drawn[s][0]["of"] for s in own], dtype=float)
            weight /= weight.sum()
            share = sum(w * hit[s] / len(drawn[s]) for w, s in zip(weight, own, strict=True))
            again = sum(
                w * rng.beta(hit[s] + 0.5, len(drawn[s]) - hit[s] + 0.5, DRAWS)
                for w, s in zip(weight, own, strict=True)
            )
            least, most = np.quantile(again, [0.025, 0.975])
            cells.append(f"{share:.0%} [{least:.0%}, {most:.0%}]")
        print(f"| {what} | {' | '.join(cells)} |")
    print(f"| drawn | {' | '.join(str(len(drawn[s])) for s in strata)} |{' |' * len(collections)}")
    print("\n| system left out | errors drawn | human verdict doubtful |\n|---|---|---|")
    for run in dict.fromkeys(line["run"] for line in lines):
        classes = [line["class"] for line in lines if line["run"] == run]
        print(f"| {run} | {len(classes)} | {classes.count('doubtful')} |")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["draw", *folders, out] if len(folders) == len(LEFT_OUT):
            draw(folders, Path(out))
        case ["count"]:
            count()
        case _:
            sys.exit(__doc__)
