"""promptfoo's results: `promptfoo eval --output results.json`, or `.jsonl`.

    {"evalId", "results": {"results": [RESULT, ...]}, "config", ...}     .jsonl has a RESULT on each line
    RESULT: {"vars": {"question": ...}, "prompt": {"raw", "label"}, "promptIdx", "provider": {"id", "label"},
             "response": {"output"}, "testCase": {"assert": [...]},
             "gradingResult": {"componentResults": [{"pass", "score", "reason", "assertion": {"type", "value"}}]}}

A run is a provider; with several prompts, a provider and the number of the prompt: `gpt`, `gpt-p2`. A name that the
user gives stands before these, if there are several. The question is the
variable of that name (`dataset`), or the prompt as it was sent.

An assertion that an answer has to say something is a nugget, and its result a machine's verdict on the whole answer:
`contains`, `icontains` and their forms with `-all` and `-any`; `llm-rubric`, `model-graded-closedqa`, `g-eval`; and
`factuality`, whose value is a right answer. The values of `-any` are descriptions of one nugget. Those of `-all` are a
nugget each; after a failure nobody knows which of them is missing, so there is no verdict. `not-` before
one of these (not `-all`) makes a nugget that is forbidden, and the verdict is the opposite. All other assertions
(of length, latency, format, or code) are left out and counted, and so are results without an output. Where a question
has no such assertions, its reference becomes nuggets (`dataset`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nuggeteer.formats.bundle import Bundle
from nuggeteer.formats.dataset import Dataset, present, rest_of, roles_of, text_of
from nuggeteer.formats.objects import Opening, read_objects
from nuggeteer.records import Judgement

INSIDE = ("results", "results")
ASSESSOR = "promptfoo"
ONE = ("contains", "icontains", "llm-rubric", "model-graded-closedqa", "g-eval", "factuality")
ANY = ("contains-any", "icontains-any")
ALL = ("contains-all", "icontains-all")
_USED = ("vars", "prompt", "promptIdx", "provider", "response", "gradingResult", "testCase")


def recognises(opening: Opening) -> bool:
    """Whether it has results of promptfoo."""
    results = opening.inside(*INSIDE) or opening.objects
    first = results[0] if results and isinstance(results[0], dict) else {}
    return {"vars", "promptIdx", "provider"} <= set(first)


def read_results(path: Path, present_records: Bundle | None = None, run: str | None = None) -> Bundle:
    """Read the results of an evaluation."""
    bundle = Bundle()
    results = list(read_objects(path, bundle, inside=INSIDE))
    several = len({repr(result.get("promptIdx")) for _, result, _ in results}) > 1
    names = {_run(result, several) for _, result, _ in results if isinstance(result.get("provider"), dict | str)}
    data = Dataset(path, bundle, present_records or Bundle())
    for number, result, raw in results:
        variables = result.get("vars")
        if not isinstance(variables, dict) or not isinstance(result.get("provider"), dict | str):
            bundle.not_understood(path, number, raw, "no vars or no provider")
            continue
        roles = roles_of(variables)
        asked = text_of(present(variables, roles, "question") or _inside(result, "prompt", "raw"))
        qid = data.question(asked or "", present(variables, roles, "qid"))
        if qid is None:
            bundle.not_understood(path, number, raw, "no question among its vars, and no prompt")
            continue
        data.reference(qid, present(variables, roles, "reference"))
        output = text_of(_inside(result, "response", "output"))
        if output is None:
            bundle.left_out["results without an output"] += 1
        else:
            used = [key for key in (roles.get(r) for r in ("question", "qid", "reference")) if key]
            rest = rest_of({**result, **{f"vars.{k}": v for k, v in variables.items() if k not in used}}, _USED, bundle)
            own = _run(result, several)
            called = own if run is None else run if len(names) == 1 else f"{run}-{own}"
            name = data.answer(called, qid, output, system=own if called != run else None, **rest)
        for judged in _assertion_results(result):
            _add(data, bundle, qid, judged, None if output is None else (name, output))
    return data.finish()


def _run(result: dict[str, Any], several: bool) -> str:
    provider, prompt = result["provider"], result.get("promptIdx")
    name = provider if isinstance(provider, str) else provider.get("label") or provider.get("id")
    name = (text_of(name) or ASSESSOR).replace("/", "-").replace("\\", "-").strip(". ")
    return f"{name}-p{prompt + 1}" if several and isinstance(prompt, int) and prompt else name


def _assertion_results(result: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The results of assertions. A set of assertions is followed by those that it has."""
    judged = _inside(result, "gradingResult", "componentResults")
    if not isinstance(judged, list) or not judged:
        asserted = _inside(result, "testCase", "assert")
        judged = [{"assertion": one} for one in asserted] if isinstance(asserted, list) else []
    for one in judged:
        if isinstance(one, dict) and isinstance(one.get("assertion"), dict):
            yield one


def _add(data: Dataset, bundle: Bundle, qid: str, judged: dict[str, Any], answer: tuple[str, str] | None) -> None:
    """Add what an assertion wants an answer to say, and whether it does."""
    assertion = judged["assertion"]
    kind, value = text_of(assertion.get("type")) or "", assertion.get("value")
    forbidden = kind.removeprefix("not-") in (*ONE, *ANY) and kind.startswith("not-")
    kind = kind.removeprefix("not-") if forbidden else kind
    values = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str) and one.strip()]
    if kind in ALL + ANY and len(values) == 1:
        values = [one.strip() for one in values[0].split(",") if one.strip()]
    if kind not in ONE + ANY + ALL or not values:
        bundle.left_out[f"{kind:.40} assertions"] += 1
        return
    passed = judged.get("pass")
    claimed = passed != forbidden if isinstance(passed, bool) else None
    groups = [values] if kind in ANY else [[one] for one in values]
    for texts in groups:
        extra = {"source": ASSESSOR, "type": assertion["type"]}
        extra |= {key: assertion[key] for key in ("metric", "weight") if assertion.get(key) is not None}
        about: dict[str, Any] = {"importance": "forbidden", "weight": -1.0} if forbidden else {}
        nugget = data.fact(qid, texts, **about, as_found=extra)
        if answer is not None and claimed is not None and (claimed or len(groups) == 1):
            run, text = answer
            reason = text_of(judged.get("reason"))
            data.verdict(
                Judgement(qid, nugget.nugget, text, claimed, run=run, assessor=ASSESSOR, reason=reason, machine=True)
            )


def _inside(result: dict[str, Any], *keys: str) -> Any:
    value: Any = result
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value
