"""The sample collection that ships with the package."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.collection.names import refuse_file
from nuggeteer.errors import fail
from nuggeteer.formats.canonical import read_file, unretracted
from nuggeteer.records import RunInfo


def sample_folder() -> Path:
    """The folder of the sample: inside an installed package, or `judgements/sample` of a checkout."""
    package = Path(__file__).parent.parent
    installed = package / "sample"
    return installed if installed.is_dir() else package.parent / "judgements" / "sample"


def true_sample(collection: Collection) -> Collection:
    """The sample with the truth about its builds, which its folder does not have. No guess sees it."""
    package = Path(__file__).parent.parent
    installed = package / "truth"
    folder = installed if installed.is_dir() else package.parent / "judgements" / "truth"
    said = [entry.record for entry in unretracted(list(read_file(folder / "builds.jsonl", [])))]
    every = {run: RunInfo(run, "build", "every") for run in {line.run for line in said} if run}
    verdicts = (*collection.judgements, *said)
    return replace(collection, judgements=verdicts, manifest={**collection.manifest, **every})


def unjudged(collection: Collection) -> Collection:
    """A collection before anybody has judged anything."""
    manifest = {name: structs.replace(info, judged="none") for name, info in collection.manifest.items()}
    return replace(collection, judgements=(), manifest=manifest)


def has_sample(collection: Collection) -> bool:
    """Whether a collection is the sample, perhaps with other questions, nuggets or verdicts beside its own."""
    return read_collection(sample_folder()).key.position.keys() <= collection.key.position.keys()


def copy_sample(folder: Path | str) -> bool:
    """Copy the sample into a folder, completely or not at all. False if the folder already has a collection.

    Any other folder that is not empty is refused.
    """
    folder = Path(folder)
    try:
        if (folder / "nuggets.jsonl").is_file():
            return False
        refuse_file(folder)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise fail(folder, "is not empty and not a collection", "name a new folder")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".nuggeteer-") as staging:
            copy = Path(staging) / "sample"
            shutil.copytree(sample_folder(), copy, ignore=shutil.ignore_patterns(".nuggeteer"))
            if folder.exists():  # perhaps the user's current folder: it stays, and becomes a collection at the end
                for inside in sorted(copy.iterdir(), key=lambda path: path.name == "nuggets.jsonl"):
                    inside.rename(folder / inside.name)
            else:
                copy.rename(folder)
    except OSError as error:
        raise fail(folder, f"cannot be written: {error.strerror}", "choose another folder") from error
    return True
