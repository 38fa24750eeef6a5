"""`python -m nuggeteer`"""

from nuggeteer.cli.main import run

run()
