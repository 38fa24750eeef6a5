"""Dates, times, ages and distances by their written form: what a tagger of names misses or mislabels."""

from __future__ import annotations

import re

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|"
    r"Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_DAY = r"(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?"
_FULL_DAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_UNIT = r"(?:second|minute|hour|day|week|month|year|decade|centur(?:y|ie))s?"
_COUNT = (
    r"(?:\d[\d,.]{0,12}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|several|a few|"
    r"many|some)"
)
_NTH = r"\d{1,2}(?:st|nd|rd|th)?"
_CLOCK = (
    r"(?:\d{1,2}:\d{2}(?::\d{2})?(?:\s?(?:[ap]\.m\.|[ap]m\b))?|\d{1,2}\s?(?:[ap]\.m\.|[ap]m\b))"
    r"(?:\s(?:GMT|UTC|EST|EDT|PST|PDT|CET|local time))?"
)

_TIME = re.compile(
    "|".join(
        (
            rf"\b{_NTH} (?:of )?{_MONTH}(?:,? \d{{4}}\b)?",  # 30 Mar 2010
            rf"\b(?:{_FULL_DAY},? )?{_MONTH} {_NTH}\b(?:,? \d{{4}}\b)?",  # Sunday, March 30, 2010
            rf"\b{_MONTH},? \d{{4}}\b",
            r"\b\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?)?\b",
            r"\b\d{1,2}/\d{1,2}/\d{2,4}\b",
            r"\b(?:the )?(?:early |mid-|late )?(?:1[5-9]|20)\d0s\b",
            rf"\b{_CLOCK}",
            rf"\b(?:(?:late|early|last|next|this) )?{_FULL_DAY}(?: (?:morning|afternoon|evening|night))?\b",
            r"\b(?:yesterday|tomorrow) (?:morning|afternoon|evening)\b",
            r"\b(?:the day (?:before|after) )?(?:yesterday|tomorrow|today|tonight)\b",
            rf"\b(?:last|next|this|the previous|the following) (?:{_UNIT}|{_DAY}|{_MONTH}|weekend|spring|summer|autumn"
            r"|fall|winter|night|morning|evening|afternoon)\b",
            rf"\b{_COUNT} {_UNIT} (?:ago|later|earlier|from now)\b",
            rf"\b(?:every|each) (?:other )?(?:{_UNIT}|{_FULL_DAY}|{_MONTH}|weekend|spring|summer|autumn|fall|winter"
            r"|night|morning|evening|afternoon)\b",
        )
    )
)
_AGE = re.compile(
    r"\b(?:\d{1,3}|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)[- ](?:year|month|week)s?[- ]old\b"
    r"|\baged \d{1,3}\b|\bat (?:the )?age (?:of )?\d{1,3}\b"
)
_DISTANCE = re.compile(
    r"(?:\b(?:some|about|around|nearly|almost|roughly) )?"
    r"(?<![\d,.])\d[\d,.]{0,12} ?(?:kilomet(?:er|re)s?|kms?|miles?|met(?:er|re)s?|feet)(?: \([^()]{1,30}\))? "
    r"(?:(?:north|south)(?:-?(?:east|west))?|east|west|outside|away)(?: (?:of|from))?\b",
    re.IGNORECASE,
)

_RESULT = re.compile(r"(?<![\w–-])\d{1,3}[-–]\d{1,3}(?![\w–-])")

Spans = list[tuple[int, int]]


def times(text: str) -> Spans:
    """The spans of dates and times: 30 Mar 2010, 11:00:00 am, late Sunday, yesterday, two weeks ago."""
    return _found(_TIME, text)


def ages(text: str) -> Spans:
    """The spans of ages such as 43-year-old, which a tagger may take for a date."""
    return _found(_AGE, text)


def distances(text: str) -> Spans:
    """The spans of distances from a place: some 55 kilometers (33 miles) north of."""
    return _found(_DISTANCE, text)


def results(text: str) -> Spans:
    """The spans of results of games and votes: 2-1."""
    return _found(_RESULT, text)


def is_result(word: str) -> bool:
    return _RESULT.fullmatch(word) is not None


def _found(pattern: re.Pattern[str], text: str) -> Spans:
    return [found.span() for found in pattern.finditer(text)]
