"""Nuggets that a language model proposes for the key, from answers or from retrieved documents; people accept them.

Each text is asked about once: the call with its reply is kept in `judges/calls/NAME.proposals.jsonl`. A proposal that
says what the key or an earlier proposal says is left out, and so is one whose words the text does not have.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from nuggeteer.asking.calls import Call, Identity
from nuggeteer.asking.client import Refused, Unavailable
from nuggeteer.asking.prompts import Prompt, own_prompt
from nuggeteer.asking.replies import WrongShape, objects
from nuggeteer.asking.sender import Malformed, Sender, Spending, Stopped
from nuggeteer.asking.session import Progress, Queue, Workers, server_said
from nuggeteer.asking.store import VerdictStore
from nuggeteer.collection.proposals import Proposal, content_words, known_proposals, propose, repeats
from nuggeteer.formats.append import append_bytes
from nuggeteer.formats.sentences import pieces
from nuggeteer.records import AnswerKey, Importance, Run

Source = Literal["answers", "documents"]
PROMPT: Final = "propose-1"
KIND: Final = ".proposals"
MOST: Final = 30  # facts of one text
LONGEST: Final = 400  # characters of a fact
IN_TEXT: Final = 0.7  # of a fact's words must be in the text
REPLY: Final = (
    "Reply with this JSON object and nothing else. At most 30 nuggets; none is a good answer too.\n"
    '{"nuggets": [{"text": "...", "importance": "vital" or "okay"}, ...]}'
)
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "nuggets": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"text": {"type": "string"}, "importance": {"type": "string", "enum": ["vital", "okay"]}},
                "required": ["text", "importance"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["nuggets"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Text:
    """A text to propose from: an answer, or a document with its id."""

    call: Call
    docid: str | None


@dataclass
class Proposed:
    """The result."""

    texts: int = 0  # that were asked about now
    proposals: list[Proposal] = field(default_factory=list)
    repeated: int = 0  # facts of the key, or proposed before
    unfounded: int = 0  # facts whose words the text does not have
    failed: list[tuple[str, str]] = field(default_factory=list)  # question, reason
    unavailable: str | None = None  # why a text had no reply
    left: int = 0
    spent: float = 0.0


def texts_of(key: AnswerKey, run: Run, source: Source) -> Iterator[Text]:
    """The whole answers of a run, or its records one by one, each with the nuggets that the key has already."""
    for number, question in enumerate(key.questions):
        known = key.nuggets[key.own(number)]
        found: dict[str, str | None] = {}
        if source == "answers":
            found[run.answer(number)] = None
        else:
            for response in range(len(run))[run.own(number)]:
                record = run.texts[response]
                if run.parts is not None:
                    record = run.parts.records[int(run.parts.record[response])]
                found.setdefault(record, run.docid(response))
        for text, docid in found.items():
            if text.strip():
                yield Text(Call(question, run.name, text, known), docid)


def read_facts(content: str) -> list[tuple[str, Importance]]:
    """The facts in a reply; raises `WrongShape`."""
    whole = [one for one in objects(content) if isinstance(one.get("nuggets"), list)]
    if len(whole) != 1:
        raise WrongShape("no list of nuggets in the reply" if not whole else "two lists of nuggets in the reply")
    found: list[tuple[str, Importance]] = []
    for fact in whole[0]["nuggets"][:MOST]:
        text = fact.get("text") if isinstance(fact, dict) else None
        # A half of a surrogate pair, which JSON can hold and no file can, becomes a question mark.
        text = " ".join(text.encode("utf-8", "replace").decode().split()) if isinstance(text, str) else ""
        if not text or len(text) > LONGEST:
            raise WrongShape("a nugget without a text, or with a very long one")
        found.append((text, "vital" if fact.get("importance") == "vital" else "okay"))
    return found


class Proposing:
    """Asks about texts, several at once, and appends what is new to `proposals.jsonl`."""

    def __init__(self, root: Path, key: AnswerKey, sender: Sender, progress: Progress) -> None:
        self._root, self._sender, self._progress = root, sender, progress
        self._prompt: Prompt = own_prompt(PROMPT)
        self._identity = Identity.of(sender.judge, self._prompt)
        self.store = VerdictStore(root, self._identity, KIND)
        self._known = {
            question.qid: [content_words(text) for nugget in nuggets for text in nugget.descriptions]
            for question, nuggets in key
        }
        for qid, text in known_proposals(root):
            self._known.setdefault(qid, []).append(content_words(text))
        self._queue = Queue[Text](sender.stop)
        self._lock, self._done, self._result = threading.Lock(), 0, Proposed()

    def run(self, texts: Sequence[Text]) -> Proposed:
        """Returns when everything is asked, or the budget is spent. A `KeyboardInterrupt` waits for the replies that
        are on their way."""
        if texts:
            self.store.check_writable()
            append_bytes(self._root / "proposals.jsonl", b"")
        self._queue.waiting.extend(texts)
        workers = Workers(min(self._sender.judge.concurrency, len(texts)), self._work, self._sender.stop)
        workers.run(lambda: self._progress(self._done, len(texts), self._sender.budget.spent))
        self._result.spent = self._sender.budget.spent
        return self._result

    def _work(self) -> None:
        with closing(self._sender):
            self._queue.work(self._propose_from)

    def _propose_from(self, text: Text) -> None:
        call, spending = text.call, Spending()
        if not self.store.claim(call):
            with self._lock:
                self._result.left += 1  # another process is asking about it
            return
        try:
            self.store.refresh()
            key = call.key(self._identity)
            if (earlier := self.store.replies.get(key)) is not None:
                self._take_again(text, earlier, key)
            elif key not in self.store.malformed:
                self._ask(text, key, spending)
        except Stopped:
            with self._lock:
                self._result.left += 1
                self._result.unavailable = spending.unavailable or self._result.unavailable
        finally:
            self.store.release(call)
            with self._lock:
                self._done += 1

    def _ask(self, text: Text, key: str, spending: Spending) -> None:
        call, store = text.call, self.store
        messages = self._prompt.messages(call.question.text, call.text, call.descriptions(), REPLY)
        try:
            reply = self._sender.reply(messages, SCHEMA, spending)
        except (Malformed, Refused, Unavailable) as failure:
            store.keep(call, "malformed" if isinstance(failure, Malformed) else "unavailable", spending, str(failure))
            self._fail(call, str(failure))
            if isinstance(failure, Unavailable):
                self._result.unavailable = str(failure)
            return
        try:
            facts = read_facts(reply.content)
        except WrongShape as wrong:
            store.keep(call, "malformed", spending, str(wrong), reply.content)
            self._fail(call, str(wrong))
            return
        store.keep(call, "answered", spending, reply=reply.content, **server_said(reply))
        with self._lock:
            self._result.texts += 1
        self._take(text, facts, key)

    def _fail(self, call: Call, reason: str) -> None:
        with self._lock:
            self._result.failed.append((call.question.qid, reason))

    def _take_again(self, text: Text, content: str, key: str) -> None:
        """Take a reply of the ledger, which anybody can edit."""
        try:
            facts = read_facts(content)
        except WrongShape as wrong:
            self._fail(text.call, str(wrong))
        else:
            self._take(text, facts, key)

    def _take(self, text: Text, facts: list[tuple[str, Importance]], key: str) -> None:
        """Append the facts that are new."""
        call, identity = text.call, self._identity
        has, sentences = content_words(call.text), [call.text[start:end] for start, end in pieces(call.text)]
        extra = {"machine": True, "model": identity.model, "prompt": identity.prompt.name, "key": key}
        with self._lock:
            known = self._known.setdefault(call.question.qid, [])
            for fact, importance in facts:
                own = content_words(fact)
                if repeats(fact, known):
                    self._result.repeated += 1
                elif not own or len(own & has) < IN_TEXT * len(own):
                    self._result.unfounded += 1
                else:
                    passage = max(sentences, key=lambda part: len(own & content_words(part)))
                    proposal = Proposal(
                        call.question.qid, fact, importance, passage, call.run, text.docid, identity.judge, extra
                    )
                    self._result.proposals.append(propose(self._root, proposal))
                    known.append(own)
