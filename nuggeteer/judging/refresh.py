"""The score of a session, and newer states of it, worked out in a thread while the assessor goes on.

The first question needs no score, and no verdict waits for one. So a screen shows the question, and starts a `Refresh`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from nuggeteer.errors import NuggeteerError
from nuggeteer.judging.session import Session
from nuggeteer.judging.state import JudgingState, return_memory


class Refresh:
    """The state of a session with its score: the one that it has, or what is on disk now (`anew`).

    An audit shows no score, so none is worked out. The end of the program does not wait for the thread: every verdict
    is on disk. `done` is called in the thread."""

    def __init__(self, session: Session, anew: bool, done: Callable[[], object] = lambda: None) -> None:
        self._session, self._earlier, self._revision, self._done = session, session.state, session.revision, done
        self._state: JudgingState | None = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._work, args=(anew,), daemon=True)
        self._thread.start()

    @property
    def is_done(self) -> bool:
        return not self._thread.is_alive()

    def wait(self) -> None:
        self._thread.join()

    def _work(self, anew: bool) -> None:
        try:
            state = self._earlier
            if anew:
                state = JudgingState.read(state.subject, state)
            if not self._session.blind:
                state.score()
            self._state = state
        except Exception as error:  # taken over by the other thread
            self._error = error
        self._done()

    def take_over(self) -> str:
        """Hand the new state to the session, in the session's own thread. Returns what went wrong: a file that somebody
        else is editing, for example. Judging then continues with the old state."""
        if isinstance(self._error, NuggeteerError | OSError):
            return f"the score stays as it was: {self._error}"
        if self._error is not None:
            raise self._error
        if self._state is not None and self._state is not self._session.state:
            self._session.refresh(self._state, self._revision)
            del self._earlier
            return_memory()
        return ""
