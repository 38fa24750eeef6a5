"""From annotated answers to an evaluation of distillers (Babko-Malaya 2008, §2 and §3; White et al. 2008, §7.3).

A distiller's answer to a query is its snippets in their order. What annotators marked are its nuggets; all characters
outside of nuggets count as irrelevant. How many of these hold one nug is the *density*: irrelevant text of each
distiller is nuggetized as well, and its characters are divided by its nuggets.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from nuggeteer.errors import InputError, NuggeteerError, Problem
from nuggeteer.formats.annotation import CONDITIONS, Snippet
from nuggeteer.formats.brat import covered
from nuggeteer.formats.distillation import DistilledAnswer, DistilledNugget, Distiller, NumberedLine, Query
from nuggeteer.gale.annotation import letters, union
from nuggeteer.text import length

_WORD, _LETTERS = re.compile(r"\S+"), re.compile(r"\w+")


@dataclass(frozen=True)
class AnnotatedAnswers:
    """The snippets of all distillers, each naming its distiller and its query, in order."""

    snippets: tuple[Snippet, ...]

    def lines(self, most_words: int | None = None) -> tuple[list[NumberedLine], list[str]]:
        """The lines of an evaluation, and notes on what was left out.

        With `most_words`, only so many words of each answer count, as in GALE. A nugget that goes on beyond them is cut
        there too.
        """
        kept = self._cut(most_words) if most_words else self.snippets
        notes = []
        lost = sum(len(s.nuggets) for s in self.snippets) - sum(len(s.nuggets) for s in kept)
        if most_words and lost:
            notes.append(f"Only the first {most_words:,} words of each answer count: {lost:,} nuggets are beyond them.")
        lines: list[NumberedLine] = []
        lines += [_at(own[0], query) for query, own in _queries(self.snippets, notes)]
        irrelevant: dict[tuple[str, str], float] = defaultdict(float)
        first: dict[tuple[str, str], Snippet] = {}
        for query in dict.fromkeys(snippet.qid or "" for snippet in kept):
            for distiller in sorted({snippet.distiller or "" for snippet in kept}):
                first[query, distiller] = kept[0]
                irrelevant[query, distiller] = 0  # of a distiller that gave no answer
        for snippet in kept:
            key = _answer(snippet)
            first[key] = first[key] if irrelevant[key] else snippet
            irrelevant[key] += irrelevant_characters(snippet)
            lines += [_at(snippet, nugget) for nugget in _nuggets(snippet)]
        lines += [_at(first[key], DistilledAnswer(*key, count)) for key, count in irrelevant.items()]
        return lines, notes

    def _cut(self, most_words: int) -> tuple[Snippet, ...]:
        left: dict[tuple[str, str], int] = defaultdict(lambda: most_words)
        kept = []
        for snippet in self.snippets:
            key = _answer(snippet)
            words = [match.end() for match in _WORD.finditer(snippet.text)]
            end = len(snippet.text) if len(words) <= left[key] else words[left[key] - 1] if left[key] else 0
            left[key] -= min(len(words), left[key])
            inside = [(n, tuple((a, min(b, end)) for a, b in n.spans if a < end)) for n in snippet.nuggets]
            nuggets = tuple(replace(nugget, spans=spans) for nugget, spans in inside if spans)
            kept.append(replace(snippet, text=snippet.text[:end], nuggets=nuggets))
        return tuple(kept)

    @property
    def irrelevant(self) -> tuple[Snippet, ...]:
        """The snippets in which nobody marked a nugget."""
        return tuple(snippet for snippet in self.snippets if not snippet.nuggets)


def annotated_answers(files: Sequence[tuple[Path, Sequence[Snippet]]]) -> AnnotatedAnswers:
    """The snippets of several files. A file whose snippets name no distiller is that of the distiller it is called."""
    found: list[Snippet] = []
    problems: list[Problem] = []
    for path, snippets in files:
        for snippet in snippets:
            if snippet.qid is None:
                what = f"snippet {snippet.snippet!r} names no query"
                problems.append(snippet.problem(what, "write Query: above it (or the key qid)"))
            found.append(replace(snippet, distiller=snippet.distiller or path.resolve().stem))
    if problems:
        raise InputError(problems)
    return AnnotatedAnswers(tuple(found))


def densities(nuggetized: Sequence[Snippet]) -> tuple[list[NumberedLine], list[str]]:
    """How many characters of irrelevant text hold one nug, for each distiller whose text was nuggetized, as lines; and
    a note on each. A distiller without any nugget there has the density of all of them together."""
    characters: Counter[str] = Counter()
    nuggets: Counter[str] = Counter()
    for snippet in nuggetized:
        name = snippet.distiller or ""
        characters[name] += length(snippet.text)
        nuggets[name] += len(snippet.nuggets)
    if not nuggets.total():
        raise NuggeteerError("no nugget in the text whose density is to be counted; mark some, or write the density")
    pooled = characters.total() / nuggets.total()
    lines: list[NumberedLine] = []
    notes = []
    for name in sorted(characters):
        own = characters[name] / nuggets[name] if nuggets[name] else pooled
        counted = f"{characters[name]:,} characters, nuggets: {nuggets[name]:,}" if nuggets[name] else "that of all"
        notes.append(f"Characters of irrelevant text to a nug, {name}: {own:.1f} ({counted}).")
        lines.append((Path(nuggetized[0].file), 0, Distiller(name, characters_per_nug=own)))
    return lines, notes


def irrelevant_characters(snippet: Snippet) -> int:
    """How many characters that are not white space are in no nugget."""
    inside = sum(length(snippet.text[start:end]) for start, end in union(snippet.nuggets))
    return length(snippet.text) - inside


def _answer(snippet: Snippet) -> tuple[str, str]:
    return snippet.qid or "", snippet.distiller or ""


def _at(snippet: Snippet, line: Any) -> NumberedLine:
    return Path(snippet.file), snippet.line or 0, line


def _queries(snippets: Sequence[Snippet], notes: list[str]) -> Iterator[tuple[Query, list[Snippet]]]:
    """Each query with its snippets, and the conditions that all of them share."""
    by_query: dict[str, list[Snippet]] = {}
    for snippet in snippets:
        by_query.setdefault(snippet.qid or "", []).append(snippet)
    for qid, own in by_query.items():
        shared: dict[str, Any] = {}
        for name in CONDITIONS:
            values = {value for snippet in own if (value := getattr(snippet, name)) is not None}
            if len(values) == 1:
                shared[name] = values.pop()
            elif values:
                notes.append(f"Query {qid} has snippets of several values of {name}, and counts for none of them.")
        text = next((str(s.extra["query"]) for s in own if isinstance(s.extra.get("query"), str)), qid)
        yield Query(qid, text, **shared), own


def _nuggets(snippet: Snippet) -> Iterator[DistilledNugget]:
    cited = _cited(snippet)
    for nugget in snippet.nuggets:
        extra: dict[str, Any] = {"snippet": snippet.snippet, **({"kind": nugget.type} if nugget.type else {})}
        citations = None
        if cited is not None:
            inside = letters(snippet.text, nugget)
            whole = [one for one in cited if one.chunk is None or inside <= one.chunk]
            named = {one.docid for one in whole}
            partly = [one for one in cited if one.chunk and one.docid not in named and not inside.isdisjoint(one.chunk)]
            citations = tuple(dict.fromkeys(one.docid for one in whole))
            quotes = {one.docid: one.quote for one in (*whole, *partly) if one.quote is not None}
            extra |= {"quotes": quotes} if quotes else {}
            extra |= {"partly": sorted({one.docid for one in partly})} if partly and not whole else {}
        qid, distiller = _answer(snippet)
        yield DistilledNugget(qid, distiller, covered(snippet.text, nugget.spans), citations=citations, extra=extra)


@dataclass(frozen=True)
class _Cited:
    """A document that a snippet cites, what it quotes of it, and the letters of the snippet's chunk that it is cited
    for; None for all of it."""

    docid: str
    quote: str | None
    chunk: frozenset[int] | None


def _cited(snippet: Snippet) -> list[_Cited] | None:
    """What a snippet cites; None if nothing is said of that."""
    listed = snippet.extra.get("citations")
    if listed is None:
        return None
    found = []
    for one in listed if isinstance(listed, list) else [None]:
        own = one if isinstance(one, dict) else {"docid": one}
        docid, quote, chunk = own.get("docid"), own.get("quote"), own.get("chunk")
        if not isinstance(docid, str):
            what = "a citation is neither a document's id nor an object with one"
            raise InputError([snippet.problem(what, 'write "citations": ["d1", {"docid": "d2", "quote": "..."}]')])
        letters_of_chunk = None
        if chunk is not None:
            letters_of_chunk = _letters_of_chunk(snippet.text, chunk) if isinstance(chunk, str) else None
            if not letters_of_chunk:
                what = f"the chunk of the citation of {docid} is not an excerpt of the snippet"
                raise InputError([snippet.problem(what, "copy words of the snippet, in their order")])
        found.append(_Cited(docid, quote if isinstance(quote, str) else None, letters_of_chunk))
    return found


def _letters_of_chunk(text: str, chunk: str) -> frozenset[int] | None:
    """Where in a text the words of a chunk stand, which leaves some of them out; None if they do not."""
    places = [match.span() for match in _LETTERS.finditer(text)]
    words = [text[start:end].casefold() for start, end in places]
    wanted = [match[0].casefold() for match in _LETTERS.finditer(chunk)]
    blocks = SequenceMatcher(None, words, wanted, autojunk=False).get_matching_blocks()
    if sum(block.size for block in blocks) < len(wanted):
        return None
    taken = (places[i] for block in blocks for i in range(block.a, block.a + block.size))
    return frozenset(i for start, end in taken for i in range(start, end))
