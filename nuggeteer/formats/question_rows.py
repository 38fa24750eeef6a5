"""Questions and answers in rows: CSV, TSV, JSON or JSON Lines, of RAGAS, of DeepEval, or of anybody's own making.

    question, answer, reference?, qid?, run?, docid?     and any other columns
    user_input, response, reference, retrieved_contexts  RAGAS; question, answer, ground_truth in its older versions
    input, actual_output, expected_output, ...           DeepEval's datasets
    {"testCases": [{"input", "actualOutput", "expectedOutput", "metricsData", ...}]}  DeepEval's results of a test run

Each row is an answer to a question. If it is a list of texts, each of them is a response. The run is named in the row,
or called like the file, or as the user says. A name that the user gives stands before those of several runs. Which
names are which, and what becomes of references and of questions without ids, `dataset` says. All other keys are kept
under `as_found`, and counted: contexts and the scores of metrics are about whole answers, and no command uses them.
Conversations of several turns are left out and counted.

A run is written with `qid`, `question`, `answer`, `run` and what was kept: the responses to a question are joined by
line feeds into one answer, which has the first docid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nuggeteer.formats.bundle import Bundle, by_question, kept
from nuggeteer.formats.dataset import Dataset, choose, name_absent, present, rest_of, roles_of, text_of
from nuggeteer.formats.jsonl import bare_name
from nuggeteer.formats.objects import Opening, can_be_opened_again, open_file, read_objects

INSIDE = ("testCases",)
USED = ("qid", "row", "question", "answer", "reference", "run", "docid")
_TALKS = "conversationalTestCases"


def recognises(opening: Opening) -> bool:
    """Whether its rows have a question and an answer."""
    rows = opening.inside(*INSIDE) or opening.objects or [dict.fromkeys(opening.columns)]
    roles = roles_of(rows[0] if isinstance(rows[0], dict) else {})
    return "question" in roles and ("answer" in roles or "reference" in roles)


def read_answers(
    path: Path, columns: Sequence[str] = (), present_records: Bundle | None = None, run: str | None = None
) -> Bundle:
    """Read rows of questions and answers."""
    bundle, chosen = Bundle(), choose(columns)
    rows = [(number, one, raw) for number, one, raw in read_objects(path, bundle, inside=INSIDE)]
    data = Dataset(path, bundle, present_records or Bundle())
    keys = list(dict.fromkeys(key for _, row, _ in rows for key in row))
    if rows:
        _check_columns(path, chosen, keys, bundle)
    roles = roles_of(keys, chosen)
    ids = _ids(rows, roles)
    systems = len({text_of(present(row, roles, "run")) for _, row, _ in rows})
    for number, row, raw in rows:
        talks = row.get(_TALKS)
        if isinstance(talks, list):
            bundle.left_out["conversations of several turns"] += len(talks)
            if row.get("testCases") == []:
                continue
        question, answer, qid = (present(row, roles, role) for role in ("question", "answer", "qid"))
        if isinstance(question, list) or isinstance(row.get("turns"), list):
            bundle.left_out["conversations of several turns"] += 1
            continue
        name = data.question(text_of(question) or "", qid, ids.get(number))
        if name is None:
            bundle.not_understood(path, number, raw, "no question, and no valid id of one")
            continue
        used = [roles[role] for role in USED if role in roles and (role != "row" or ids)]
        rest = rest_of(row, used, bundle)
        data.reference(name, present(row, roles, "reference"))
        own = text_of(present(row, roles, "run")) if systems > 1 or run is None else None
        called = "-".join(filter(None, (run, own))) or bare_name(path)
        if answer not in NOTHING:
            docid = text_of(present(row, roles, "docid"))
            data.answer(called, name, _responses(answer), docid, own, **rest)
        elif "answer" in roles:
            data.no_answer(called, name)
    return data.finish()


NULLS = ("null", "NULL")  # how programs write no answer into a table
NOTHING: tuple[Any, ...] = (None, [], *NULLS)


def _check_columns(path: Path, chosen: Mapping[str, str], keys: Sequence[str], bundle: Bundle) -> None:
    """Errors about columns that the user names and that are not there. A column of a table may have no cell."""
    if absent := {role: column for role, column in chosen.items() if column not in keys}:
        columns = open_file(path).columns if can_be_opened_again(path) else []
        name_absent(path, absent, list(dict.fromkeys([*columns, *keys])), bundle.problems)


def _responses(answer: Any) -> str | list[str]:
    several = isinstance(answer, list) and all(isinstance(one, str) for one in answer)
    return answer if several else text_of(answer) or ""


def _ids(rows: Sequence[tuple[int, Mapping[str, Any], str]], roles: Mapping[str, str]) -> dict[int, Any]:
    """The ids of rows, by their numbers, if they are ids of questions: each question has one, and each one question."""
    if "row" not in roles or "qid" in roles:
        return {}
    found = {number: (present(row, roles, "row"), text_of(present(row, roles, "question"))) for number, row, _ in rows}
    pairs = set(found.values()) if all(isinstance(one, str | int) for one, _ in found.values()) else {(None, None)}
    both = len({one for one, _ in pairs}) == len(pairs) == len({text for _, text in pairs})
    return {number: one for number, (one, _) in found.items()} if both and (None, None) not in pairs else {}


def answer_rows(bundle: Bundle, run: str) -> Iterator[dict[str, Any]]:
    """A run as rows."""
    for qid, responses in by_question(bundle.responses[run]).items():
        question = bundle.question(qid)
        docid = next((response.docid for response in responses if response.docid is not None), None)
        row = {"qid": qid, "question": question.text, "answer": "\n".join(r.text for r in responses), "run": run}
        yield row | ({"docid": docid} if docid is not None else {}) | kept(responses[0], "as_found")
