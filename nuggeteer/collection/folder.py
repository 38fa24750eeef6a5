"""A collection: one folder read into memory, with its problems.

Reading stops at errors, which would make a score wrong, and keeps the warnings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs

from nuggeteer.collection.answer_key import read_key
from nuggeteer.collection.contradictions import contradicted_answers, contradictions
from nuggeteer.collection.names import find_run, no_run, require_collection, run_files
from nuggeteer.collection.runs import read_manifest, read_run
from nuggeteer.display import Shown, counted
from nuggeteer.errors import InputError, Problem, errors_in
from nuggeteer.formats.canonical import Anything, Verdict, counts_as_known, read_folder, unretracted
from nuggeteer.formats.jsonl import bare_name, stored
from nuggeteer.formats.toml_settings import read_settings
from nuggeteer.records import AnswerKey, Judgement, Run, RunInfo
from nuggeteer.settings import Settings
from nuggeteer.text import verdict_form

UNLISTED = "builds"  # the group of the runs that the manifest does not list


@dataclass(frozen=True, repr=False)
class Collection(Shown):
    """Questions, nuggets, judgements and the manifest of a folder. Runs are read when asked for.

    `judgements` are the human verdicts that were not retracted, and those of machines whose verdicts are the standard
    (`[judgements] as_truth`). Those of other machines are kept apart, in `machine`."""

    root: Path
    key: AnswerKey
    judgements: tuple[Judgement, ...]
    manifest: dict[str, RunInfo]
    settings: Settings
    problems: list[Problem] = field(default_factory=list)
    machine: tuple[Judgement, ...] = ()
    allow_empty: bool = False  # whether a run without any answer is scored; otherwise it is an error

    def _summary(self) -> str:
        key = f"{counted(len(self.key.questions), 'question')}, {counted(len(self.key.nuggets), 'nugget')}"
        rest = f"{counted(len(self.judgements), 'verdict')}, {counted(len(self.run_names), 'run')}"
        return f"{self.root.name}, {key}, {rest}"

    def _rows(self) -> Iterator[dict[str, object]]:
        """The runs, with what the manifest says about them."""
        for name in self.run_names:
            info = self.info(name)
            yield {"run": name, "group": self.group(name), "judged": info.judged}

    @cached_property
    def machine_truth(self) -> dict[str, int]:
        """The machines whose verdicts are the standard, and how many verdicts each has."""
        return dict(Counter(judgement.assessor or "" for judgement in self.judgements if judgement.machine))

    @cached_property
    def run_names(self) -> tuple[str, ...]:
        """The runs in the folder, those of the manifest first and in its order."""
        present = self.files_of_runs
        return (*(name for name in self.manifest if name in present), *sorted(present.keys() - set(self.manifest)))

    @cached_property
    def files_of_runs(self) -> dict[str, Path]:
        return run_files(self.root)

    @cached_property
    def judges(self) -> tuple[str, ...]:
        """The judges whose verdicts count as evidence: those that `[match] judges` names, as files or as machines, and
        those that `nuggeteer ask` had asked when this was first wanted. One that begins while a command runs counts
        only for the next command, because all scores of one command must use the same judges."""
        names = [judge.name for judge in self.settings.judges if judge.name == Path(judge.name).name]
        asked = [self.root / "judges" / f"{name}.jsonl" for name in names]
        inside = self.root.resolve()
        found = (str(path) for path in asked if path.exists() and path.resolve().is_relative_to(inside))
        return tuple(dict.fromkeys((*self.settings.match.judges, *found)))

    @cached_property
    def judged_runs(self) -> tuple[Run, ...]:
        """The runs that assessors read, according to the manifest. A missing verdict on one of these may mean no."""
        return tuple(self.any_run(name) for name in self.run_names if self.info(name).judged != "none")

    @cached_property
    def assessed_runs(self) -> tuple[Run, ...]:
        """The judged runs, and all others that return a text with a verdict."""
        judged = {run.name for run in self.judged_runs}
        owners = {self.owner(judgement) for judgement in self.judgements}
        return tuple(self.any_run(name) for name in self.run_names if name in judged | owners)

    def owner(self, judgement: Judgement) -> str:
        """The run whose text was judged: the one that the verdict names, else the first that returns the text; "" if
        none does."""
        if judgement.run is not None:
            return judgement.run
        return self.returned_by(judgement.qid, judgement.text)

    def returned_by(self, qid: str, text: str) -> str:
        """The first run that returns a text for a question; "" if none does."""
        return self._first_returning.get((qid, verdict_form(text)), "")

    @cached_property
    def changed_runs(self) -> frozenset[str]:
        """The runs whose files have changed since people read them: a verdict that names one has no hash of its answers
        and is about a text that is in none of them. What the manifest calls judged is as it was judged."""
        texts: dict[str, dict[str, set[str]]] = {}
        files = {name for name in self.run_names if self.info(name).judged == "none"}
        for judgement in self.judgements:
            if judgement.run in files and not judgement.run_hash:
                texts.setdefault(judgement.run, {}).setdefault(judgement.qid, set()).add(judgement.text)
        return frozenset(name for name, own in texts.items() if not all(_stand_in(self.any_run(name), self.key, own)))

    @cached_property
    def _first_returning(self) -> dict[tuple[str, str], str]:
        first: dict[tuple[str, str], str] = {}
        runs = [self.any_run(name) for name in sorted(self.run_names)]  # whatever the order of the manifest
        for run in runs:
            for question, text in zip(run.question.tolist(), run.texts, strict=True):
                first.setdefault((self.key.questions[question].qid, verdict_form(text)), run.name)
        for run in runs:
            for question in np.unique(run.question).tolist():
                answer = (self.key.questions[question].qid, verdict_form(run.answer(question)))
                first.setdefault(answer, run.name)
        return first

    def loaded(self, runs: str | Path | Run | Iterable[str | Path | Run] | None) -> list[Run]:
        """Runs given by name, by file or as themselves, one or several; None stands for all."""
        if runs is None:
            runs = self.run_names
        elif isinstance(runs, str | Path | Run):
            runs = [runs]
        return [run if isinstance(run, Run) else self.run(str(run)) for run in runs]

    def run(self, name: str) -> Run:
        """The run of that name, or of that file. The warnings of each run are added to `problems` once."""
        run, path = self.any_run(name), self._located(name)
        if not self.allow_empty and not any(map(str.strip, run.texts)):
            remedy = "look at what the system wrote, or let it score 0 with --allow-empty"
            lost = [replace(p, severity="error") for p in self.problems if p.file == str(path) and p.line]
            raise InputError([Problem(str(path), None, "answers no question of the key", remedy), *lost])
        return run

    def any_run(self, name: str) -> Run:
        """The same, also if it answers nothing."""
        path = self._located(name)
        if path not in self._runs:
            problems: list[Problem] = []
            self._runs[path] = self.read_run_file(path, problems, named=name not in self.run_names)
            self.problems.extend(_or_stop(problems))
        return self._runs[path]

    def _located(self, name: str) -> Path:
        path = find_run(name, self.root, self.files_of_runs)
        if path is None:
            raise no_run(name, self.root, self.run_names)
        return path

    def read_run_file(self, path: Path, problems: list[Problem], named: bool) -> Run:
        """The run in a file. If the user `named` it, it may be anywhere."""
        root = None if named else self.root
        if self.files_of_runs.get(bare_name(path)) == path:
            stored(path, problems)
        return read_run(path, self.info(bare_name(path)), self.key, self.settings.answers.split, problems, root)

    def has_run(self, name: str) -> bool:
        """Whether there is a run of that name, or a file."""
        return find_run(name, self.root, self.files_of_runs) is not None

    def but(self, **changes: Any) -> Collection:
        """The collection with something else in its place. Runs that were read are not read again."""
        result = replace(self, **changes)
        result._runs.update(self._runs)
        return result

    def with_settings(self, **changes: Any) -> Collection:
        """The collection with other tables of settings, but for how answers are cut."""
        return self.but(settings=replace(self.settings, **changes))

    @cached_property
    def _runs(self) -> dict[Path, Run]:
        return {}

    def group(self, run: str) -> str:
        """The system or institution that a run belongs to.

        Runs that the manifest does not list are builds of one system. A listed run without a group stands alone. A
        verdict that names no run belongs to the one system if there is no manifest."""
        if run in self.manifest:
            return self.manifest[run].group or run
        return UNLISTED if run or not self.manifest else ""

    def info(self, run: str) -> RunInfo:
        """What the manifest says about a run, with its group."""
        listed = self.manifest.get(run)
        return structs.replace(listed, group=self.group(run)) if listed else RunInfo(run)


def read_collection(root: Path | str, allow_empty: bool = False) -> Collection:
    """Read a collection; raises `InputError` on anything that would make a score wrong."""
    problems: list[Problem] = []
    collection, *_ = read_files(Path(root), problems)
    collection.problems[:] = _or_stop(problems)
    return replace(collection, allow_empty=allow_empty)


def as_collection(given: Collection | Path | str) -> Collection:
    """A collection, which may be given as its folder."""
    return given if isinstance(given, Collection) else read_collection(given)


def _or_stop(problems: list[Problem]) -> list[Problem]:
    if errors_in(problems):
        raise InputError(with_formats(problems))
    return problems


def with_formats(problems: list[Problem]) -> list[Problem]:
    """The problems, with a file of another project as one problem, which names its format."""
    from nuggeteer.collection.foreign import name_formats  # which reads many formats

    return name_formats(problems) if errors_in(problems) else problems


def read_files(root: Path, problems: list[Problem]) -> tuple[Collection, list[Anything], list[Verdict]]:
    """The collection, every line of its judgements, and the verdicts among them that were not retracted."""
    require_collection(root)
    try:
        settings = read_settings(root / "nuggeteer.toml")
    except InputError as error:
        problems.extend(error.problems)
        settings = Settings()
    key = read_key(root, problems)
    manifest = read_manifest(root / "runs.jsonl", problems)
    entries = _read_judgements(root / "judgements", key, problems)
    verdicts = unretracted(entries)
    as_truth = settings.judgements.as_truth
    known = [verdict for verdict in verdicts if counts_as_known(verdict.record, as_truth)]
    problems.extend(contradictions(known))
    problems.extend(contradicted_answers(known, settings.answers.split))
    judgements = _in_order(verdict.record for verdict in known)
    machine = _in_order(verdict.record for verdict in verdicts if not counts_as_known(verdict.record, as_truth))
    collection = Collection(root, key, judgements, manifest, settings, machine=machine)
    problems.extend(_without_verdicts(root, [name for name in as_truth if name not in collection.machine_truth]))
    return collection, entries, verdicts


def _without_verdicts(root: Path, names: Sequence[str]) -> Iterator[Problem]:
    """Names in `as_truth` that no machine has."""
    for name in names:
        what = f"[judgements] as_truth names {name!r}, and no verdict of a machine is by that assessor"
        remedy = "correct the name, or delete it"
        yield Problem(str(root / "nuggeteer.toml"), None, what, remedy, "warning")


def _in_order(judgements: Iterable[Judgement]) -> tuple[Judgement, ...]:
    """In a fixed order, whatever that of lines and files: sums depend on the order of what is added."""
    about: dict[tuple[str, str], list[Judgement]] = {}  # sorted apart: a million sort keys take much memory
    for judgement in judgements:
        about.setdefault((judgement.qid, judgement.nugget), []).append(judgement)
    text = attrgetter("text")

    def content(j: Judgement) -> tuple[object, ...]:
        said = (j.text, j.verdict, j.partial, j.contradicts, j.scope)
        return *said, j.run or "", j.assessor or "", j.at or "", j.reason or "", "" if j.span is None else str(j.span)

    def in_order(own: list[Judgement]) -> list[Judgement]:  # by the text alone where none stands twice: half the time
        return sorted(own, key=text if len(set(map(text, own))) == len(own) else content)

    return tuple(judgement for name in sorted(about) for judgement in in_order(about[name]))


def _read_judgements(folder: Path, key: AnswerKey, problems: list[Problem]) -> list[Anything]:
    """Every line about a nugget of the key, retracted or not."""
    entries = []
    for entry in read_folder(folder, problems):
        file, line, record = entry.file, entry.line, entry.record
        if (record.qid, record.nugget) not in key.nugget_position:
            what, remedy = key.why_not(record.qid)
            if record.qid in key.position:
                what, remedy = f"question {record.qid!r} has no nugget {record.nugget!r}", "correct the nugget"
            problems.append(Problem(file, line, what, f"the verdict is not used; {remedy}", "warning"))
            continue
        if isinstance(record, Judgement) and (wrong := record.flaw):
            remedy = "what is partly supported or contradicted has the verdict false"
            problems.append(Problem(file, line, wrong, remedy))
        entries.append(entry)
    return entries


def _stand_in(run: Run, key: AnswerKey, texts: Mapping[str, set[str]]) -> Iterator[bool]:
    """Whether the texts on each question stand in a run's answer to it."""
    for qid, own in texts.items():
        answer = run.answer(key.position[qid])
        if left := own - {answer, *run.texts[run.own(key.position[qid])]}:
            whole = verdict_form(answer)
            yield all(verdict_form(text) in whole for text in left)
