"""A run and its recorded build, and which run a new one is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from nuggeteer.collection.folder import Collection
from nuggeteer.errors import InputError, NuggeteerError
from nuggeteer.history.store import DamagedBuild, History
from nuggeteer.history.trend import Build, Trend, titled, trends_if_any
from nuggeteer.records import Run


@dataclass(frozen=True)
class BriefedRun:
    """A run and its recorded build; the build is None if the run comes from a file."""

    run: Run
    build: Build | None = None

    @property
    def label(self) -> str | None:
        return self.build.scoring.label if self.build else None

    @property
    def title(self) -> str:
        return titled(self.run.name, self.label)


def newest_readable(history: History, collection: Collection, builds: Sequence[Build]) -> BriefedRun | None:
    """The last of these builds whose answers are not damaged; None if there is none."""
    for build in reversed(builds):
        with suppress(DamagedBuild):  # the history's `problems` have it
            return BriefedRun(history.run(build.scoring.build, collection), build)
    return None


def find_ruled_against(
    collection: Collection, history: History, trends: Sequence[Trend], new: Build
) -> BriefedRun | None:
    """The run that a recorded build was compared with when it was decided; None if it was not compared, or that run is
    gone."""
    if new.ruling is None or new.ruling.against is None:
        return None
    if new.ruling.old is not None:
        builds = [b for trend in trends for b in trend.builds if b.scoring.build == new.ruling.old]
        return newest_readable(history, collection, builds)
    name = new.ruling.against
    return BriefedRun(collection.run(name)) if name in collection.run_names else None


def find_old_run(collection: Collection, history: History, new: Run, name: str) -> BriefedRun:
    """The run that `--against` names: a run of the collection or a file, or else a recorded build, by its run's name or
    its label. A run's own name means the earlier build that was recorded under that name."""
    if name != new.name and collection.has_run(name):
        return BriefedRun(collection.run(name))
    builds = [build for trend in trends_if_any(history) for build in trend.builds]
    named = [build for build in builds if name in (build.scoring.run, build.scoring.label)]
    named.sort(key=lambda build: (build.scoring.time, build.scoring.build))
    if name == new.name and named and history.is_last(new, collection.key):
        named.pop()
    if named:
        if old := newest_readable(history, collection, named):
            return old
        if not collection.has_run(name):
            raise InputError(history.problems)
    if name == new.name:
        raise NuggeteerError(f"{name}: no earlier build of this name is recorded; name another run")
    return BriefedRun(collection.run(name))  # which says what there is
