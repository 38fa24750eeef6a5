"""A collection in which every text, name and id tries to get out of the page and do something."""

from __future__ import annotations

from pathlib import Path

from nuggeteer.text import escaped
from tests.conftest import write_lines

# Each would set `window.owned` or ask for something over the network, if it got out.
TRICKS = (
    "<script>window.owned = 1</script>",
    '<img src="http://tracker.invalid/x.png" onerror="window.owned = 2">',
    '"><svg onload="window.owned = 3"></svg>',
    "' onfocus='window.owned = 4' autofocus x='",
    "</style><style>@import url(http://tracker.invalid/x.css);</style>",
    "</script><script>window.owned = 5</script><!--<script>",
    "javascript:window.owned=6",
    '<a href="javascript:window.owned=7">press here</a>',
    "</title><base href=http://tracker.invalid/><meta http-equiv=refresh content=0;url=http://tracker.invalid/>",
    "]]><iframe srcdoc='<script>parent.owned = 8</script>'></iframe>",
    "{{ ''.__class__ }} {% include '/etc/passwd' %} ${window.owned = 9} $\\frac{1}{2}$",
    "&lt;b&gt; &#60;script&#62; \u202egnp.exe\u202c \x1b]0;owned\x07 \u2028 \u0000",
)


def hostile(folder: Path) -> Path:
    """Two runs of which the second changes answers, one of them judged."""
    ids = [escaped(trick) for trick in TRICKS]  # what cannot be seen is refused in an id
    qids = [f"q{i} {trick}" for i, trick in enumerate(ids)]
    texts = [f"alpha{i} beta{i} gamma{i} {trick} delta{i}" for i, trick in enumerate(TRICKS)]
    nuggets = [
        {"qid": qid, "nugget": f"{n} {ids[i]}", "text": f"{word}{i} beta{i} {trick}", "importance": importance}
        for i, (qid, trick) in enumerate(zip(qids, TRICKS, strict=True))
        for n, (word, importance) in enumerate((("alpha", "vital"), ("gamma", "okay"), ("other", "vital")))
    ]
    write_lines(folder / "nuggets.jsonl", nuggets)
    write_lines(
        folder / "questions.jsonl", ({"qid": q, "text": f"what of {t}?"} for q, t in zip(qids, TRICKS, strict=True))
    )
    new = [{"qid": q, "text": t, "docid": trick} for q, t, trick in zip(qids, texts, TRICKS, strict=True)]
    old = [{"qid": q, "text": f"nothing {trick} of it", "docid": trick} for q, trick in zip(qids, TRICKS, strict=True)]
    for run in ("judged", "old"):
        write_lines(folder / "runs" / f"{run}.jsonl", old if run == "old" else [*old, *new[:4]])
    name = "new <script>window.owned = 10<" + "\u2215script>"  # a file's name holds no slash
    write_lines(folder / "runs" / f"{name}.jsonl", new)
    manifest = [{"run": "judged", "group": "others", "judged": "every"}]
    manifest += [{"run": run, "group": TRICKS[0]} for run in ("old", name)]
    write_lines(folder / "runs.jsonl", manifest)
    yes = [
        {"qid": qids[i], "nugget": f"0 {ids[i]}", "text": texts[i], "verdict": True, "assessor": TRICKS[1]}
        for i in range(0, len(qids), 2)
    ]
    write_lines(folder / "judgements" / "all.jsonl", yes)
    return folder
