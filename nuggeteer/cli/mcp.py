"""`nuggeteer mcp`"""

from __future__ import annotations

import argparse
import os
import sys

from nuggeteer.cli import options

SUMMARY = "let agents read a collection, over the Model Context Protocol"
EXAMPLES = """\
  nuggeteer mcp --collection qa
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    options.add(parser, "--collection")


def run(args: argparse.Namespace) -> int:
    from nuggeteer.collection.names import find_collection, require_collection
    from nuggeteer.errors import NuggeteerError

    folder = args.collection or find_collection()
    require_collection(folder)
    try:
        from nuggeteer.plugins.mcp import serve
    except ImportError as error:
        raise NuggeteerError("nuggeteer mcp needs the package mcp: install nuggeteer[mcp]") from error
    try:
        serve(folder)
    except KeyboardInterrupt:
        print("nuggeteer: interrupted", file=sys.stderr, flush=True)
        os._exit(130)  # a thread that waits for the next line would keep the process; there is nothing to be saved
    return 0
