"""NuggetBanks of TREC Auto-Judge (autojudge-base), RAGTIME and AutoARGUE: one JSON object for each topic.

    {"query_id", "title_query", "full_query", "nugget_bank": {QUESTION: {"question", "question_id", "answers":
     {TEXT: {"answer", "references"}}, "importance", "aggregator_type", "sub_nuggets"}},
     "claim_bank": {CLAIM: {"claim", "claim_id", "importance", "sub_nuggets"}}}
    {"metadata": {"topic_id", ...}, "nugget_bank": [{"question", "aggregator_type", "answers": [...]}]}

The second is RAGTIME's of 2026.

Banks may also be lists instead of objects by text. A claim is a nugget. So is a question with answers: its descriptions
are `QUESTION ANSWER`, one for each answer, because one of them is enough (`OR`, and where nothing is said). With `AND`
each answer is a nugget, and together they are a group (`all_of`). `NOT` and `SUM` cannot be represented: their
questions are left out and counted, and so are questions without answers, which state no fact. Nuggets within nuggets
are nuggets of their own; which nugget they were in is kept. An importance that is neither vital nor okay is `unrated`
if it says something, and vital if there is none.

The whole object of a question or claim is kept with its first nugget, under `in_bank`, and the rest of the bank with
the question, so a bank that was read is written as it was. Nuggets that somebody changed or added since are written as
claims, and so are those that are left of an object with several. These are not written: votes and tags, and importances
`unrated`. Several descriptions of a claim are joined with ` / `.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nuggeteer.formats.bundle import BETWEEN, Bundle, as_id, kept
from nuggeteer.formats.objects import Opening, read_objects
from nuggeteer.records import Importance, Nugget, Question

BANKS = ("nugget_bank", "claim_bank")
_BANK, _ITEM, _PLACE = "bank", "in_bank", "bank_place"
_UNREPRESENTED = ("NOT", "SUM")
DEEPEST = 20  # nuggets within nuggets


def recognises(opening: Opening) -> bool:
    """Whether it has banks of nuggets."""
    return bool(opening.objects) and all(any(bank in one for bank in BANKS) for one in opening.objects)


def read_banks(path: Path) -> Bundle:
    """Read banks."""
    bundle = Bundle()
    for number, bank, raw in read_objects(path, bundle, ("query_id", "metadata", *BANKS)):
        about = bank.get("metadata")
        qid = as_id(bank.get("query_id", about.get("topic_id") if isinstance(about, dict) else None))
        banks = {name: _listed(bank.get(name)) for name in BANKS if bank.get(name) is not None}
        if qid is None or not banks or None in banks.values():
            bundle.not_understood(path, number, raw, "no query_id and no topic_id, or no bank of objects")
            continue
        if qid in bundle.questions:
            bundle.not_understood(path, number, raw, f"topic {qid} occurs a second time")
            continue
        rest = {key: value for key, value in bank.items() if key not in BANKS}
        forms = {name: isinstance(bank[name], list) for name in banks}
        text = next((one for key in ("full_query", "title_query") if isinstance(one := bank.get(key), str) and one), "")
        bundle.add_question(Question(qid, text, kind="rag", extra={_BANK: {"rest": rest, "lists": forms}}))
        reader = _Reader(qid, bundle)
        for name, items in banks.items():
            for item in items or []:
                reader.add(item, name, None, 0)
    return bundle


def _listed(bank: Any) -> list[dict[str, Any]] | None:
    items = list(bank.values()) if isinstance(bank, dict) else bank
    good = isinstance(items, list) and all(isinstance(item, dict) for item in items)
    return items if good else None


class _Reader:
    """Reads the nuggets of a topic."""

    def __init__(self, qid: str, bundle: Bundle) -> None:
        self.qid, self.bundle = qid, bundle
        self.taken: Counter[str] = Counter()

    def add(self, item: dict[str, Any], bank: str, within: str | None, depth: int) -> None:
        """Add the nuggets of a question or claim, and of what is within it."""
        facts = self._facts(item)
        if not facts:
            what = "with the aggregator NOT or SUM" if _aggregator(item) in _UNREPRESENTED else "without a fact"
            self.bundle.left_out[f"{'questions' if 'question' in item else 'claims'} {what}"] += 1
        importance: Importance = "vital"
        if (found := item.get("importance")) is not None:
            importance = found if found in ("vital", "okay") else "unrated"
        name = as_id(item.get("question_id", item.get("claim_id")))
        first, parts = None, []
        for place, descriptions in enumerate(facts):
            extra = (
                {_ITEM: {"bank": bank, "item": item}} if place == 0 and within is None else {_PLACE: within or first}
            )
            own = self._name(name)
            first = first or own
            parts.append(own)
            self.bundle.nuggets.append(Nugget(self.qid, own, descriptions, importance, extra=extra))
        if len(parts) > 1:
            extra = {_PLACE: within or first}
            group = Nugget(self.qid, self._name(f"{first}-all"), (), importance, extra=extra, all_of=tuple(parts))
            self.bundle.nuggets.append(group)
        for inner in _listed(item.get("sub_nuggets")) or []:
            if depth < DEEPEST:
                self.add(inner, bank, within or first, depth + 1)
            else:
                self.bundle.left_out[f"nuggets within more than {DEEPEST} others"] += 1

    def _facts(self, item: dict[str, Any]) -> list[tuple[str, ...]]:
        claim, question = item.get("claim"), item.get("question")
        if isinstance(claim, str) and claim.strip():
            return [(claim,)]
        if not isinstance(question, str) or _aggregator(item) in _UNREPRESENTED:
            return []
        answers = [one.get("answer") for one in _listed(item.get("answers")) or []]
        texts = [f"{question} {one}".strip() for one in answers if isinstance(one, str) and one.strip()]
        if _aggregator(item) == "AND":
            return [(text,) for text in texts]
        return [tuple(texts)] if texts else []

    def _name(self, name: str | None) -> str:
        name = name or str(len(self.taken) + 1)
        self.taken[name] += 1
        return name if self.taken[name] == 1 else self._name(f"{name}-{self.taken[name]}")


def _aggregator(item: dict[str, Any]) -> str:
    value = item.get("aggregator_type")
    return value.upper() if isinstance(value, str) else ""


def bank_objects(bundle: Bundle) -> Iterator[dict[str, Any]]:
    """Questions with their nuggets, one bank for each question."""
    for qid, nuggets in bundle.nuggets_by_question().items():
        question = bundle.question(qid)
        found = kept(question, _BANK)
        rest = found.get("rest") if isinstance(found.get("rest"), dict) else None
        lists = found.get("lists") if isinstance(found.get("lists"), dict) else {}
        head = rest or {"query_id": qid, "title_query": question.text, "full_query": question.text}
        items: dict[str, list[dict[str, Any]]] = {name: [] for name in BANKS if name in (lists or {})}
        for group in _groups(nuggets):
            own = kept(group[0], _ITEM)
            if own.get("bank") in BANKS and isinstance(item := own.get("item"), dict) and _derived(qid, item, group):
                items.setdefault(own["bank"], []).append(item)
            else:
                items.setdefault("claim_bank", []).extend(map(_claim, group))
        banks = {name: some if (lists or {}).get(name) else _by_text(some) for name, some in items.items()}
        yield {**head, **({} if rest else {"format_version": "v3"}), **banks}


def _groups(nuggets: list[Nugget]) -> list[list[Nugget]]:
    """The nuggets that were read from one object, together."""
    groups: dict[str, list[Nugget]] = {}
    for nugget in nuggets:
        root = nugget.extra.get(_PLACE)
        groups.setdefault(root if isinstance(root, str) else nugget.nugget, []).append(nugget)
    return list(groups.values())


def _derived(qid: str, item: dict[str, Any], group: list[Nugget]) -> bool:
    """Whether these are the nuggets of this object, unchanged."""
    again = Bundle()
    _Reader(qid, again).add(item, "", None, 0)
    nuggets = [nugget for nugget in again.nuggets if not nugget.members]  # groups are not written
    return [(n.descriptions, n.importance) for n in nuggets] == [(n.descriptions, n.importance) for n in group]


def _by_text(items: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {str(item.get("question") or item.get("claim")): item for item in items}


def _claim(nugget: Nugget) -> dict[str, Any]:
    claim: dict[str, Any] = {"claim": BETWEEN.join(nugget.descriptions)}
    claim |= {"claim_id": nugget.nugget, "query_id": nugget.qid}
    return claim if nugget.importance == "unrated" else {**claim, "importance": nugget.importance}
