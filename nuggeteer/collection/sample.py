"""The sample collection that ships with the package."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from nuggeteer.errors import fail


def sample_folder() -> Path:
    """Where the sample lies: inside an installed package, or in `judgements/` of a checkout."""
    package = Path(__file__).parent.parent
    installed = package / "sample"
    return installed if installed.is_dir() else package.parent / "judgements" / "sample"


def copy_sample(folder: Path | str) -> bool:
    """Put a copy of the sample there. A collection that is there already is left as it is: False.

    Any other folder that is not empty is refused, and nothing is half-copied.
    """
    folder = Path(folder)
    try:
        if (folder / "nuggets.jsonl").is_file():
            return False
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise fail(folder, "is there already and is no collection", "name a new folder")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".nuggeteer-") as staging:
            copy = Path(staging) / "sample"
            shutil.copytree(sample_folder(), copy, ignore=shutil.ignore_patterns(".nuggeteer"))
            if folder.exists():
                folder.rmdir()
            copy.rename(folder)
    except OSError as error:
        raise fail(folder, f"cannot be written: {error.strerror}", "choose another place") from error
    return True
