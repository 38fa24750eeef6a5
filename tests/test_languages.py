"""Other languages than English: words, stems, weights, what is said of them, and how near-copies fare."""

from __future__ import annotations

import json
import math
import pickle
import re
import runpy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.comparing.diff import diff
from nuggeteer.errors import InputError, NuggeteerError
from nuggeteer.formats.toml_settings import read_settings
from nuggeteer.languages import LANGUAGES, SEGMENTED, WITHOUT_STOP_WORDS, Language, _segmenter, has_stemmer
from nuggeteer.matching.idf import background, read_table, write_table
from nuggeteer.matching.marks import Marker, words_at
from nuggeteer.scoring.scorer import Scorer, score
from nuggeteer.settings import Match
from nuggeteer.text import find_words, normalised, words
from tests.conftest import ROOT
from tests.growth import grows_less_than

HINDI, PERSIAN = "हिन्दी में लिखा", "می‌خواهم"


def needs(code):
    """Skip where the packages that cut texts of this language into words are not installed."""
    if code in SEGMENTED:
        try:
            _segmenter(code)
        except NuggeteerError as error:
            pytest.skip(str(error))


@pytest.fixture
def german(collect):
    """A German collection with two runs, of which one is judged."""
    texts = ["baute größere Häuser", "1815 geboren"]
    return collect(
        [{"qid": "q", "nugget": str(i), "text": text} for i, text in enumerate(texts)],
        {"a": [("q", "Ein größeres Haus wurde gebaut.")], "b": [("q", "Sie ist 1815 geboren, und die Häuser ...")]},
        [{"qid": "q", "nugget": "0", "text": "Ein größeres Haus wurde gebaut.", "verdict": True, "assessor": "ann"}],
        toml='[match]\nlanguage = "de"\n',
    )


def test_wordfreq_has_all_languages_and_snowball_their_stemmers():
    """So no name in the table is a wish. The oldest PyStemmer that is allowed lacks three; those are told."""
    import Stemmer
    import wordfreq

    assert set(wordfreq.available_languages("best")) == set(wordfreq.available_languages("small")) == set(LANGUAGES)
    assert {name for _, name in LANGUAGES.values()} - {""} <= set(Stemmer.algorithms())


@pytest.mark.parametrize("code", sorted(set(LANGUAGES) - WITHOUT_STOP_WORDS - set(SEGMENTED) - {"en"}))
def test_stop_words_are_words_of_the_language(code):
    language = Language(code)
    found = language.stop_words()
    assert len(found) > 40
    assert all(language.find(normalised(word)) == [word] for word in found)


def test_languages_without_stop_words_are_those_of_the_package():
    from stop_words import StopWordError, get_stop_words

    for code in LANGUAGES:
        if code in WITHOUT_STOP_WORDS:
            with pytest.raises(StopWordError):
                get_stop_words(code)
        else:
            assert get_stop_words(code)


@pytest.mark.parametrize("text", ["Médecins sans frontières, n° 5", "a_b don't", "ﬁne", "１９ ünïcode"])
def test_english_is_as_it_was(text):
    english = Language("en")
    assert english.find(normalised(text)) == words(text)
    assert [word for word, _, _ in words_at(text, english)] == words(text)
    assert english.signature == ""
    assert english.stem("running") == "run"


@pytest.mark.parametrize(
    ("code", "text", "found"),
    [
        ("de", "Größe, groß-artig", ["grösse", "gross", "artig"]),
        ("ru", "Который ёж?", ["который", "ёж"]),
        ("hi", HINDI, HINDI.split()),
        ("fa", PERSIAN, ["میخواهم"]),
        ("ja", "富士山は日本で一番高い山です。", ["富士山", "は", "日本", "で", "一番", "高い", "山", "です"]),
        ("zh", "长城是中国古代的伟大工程。", ["长城", "是", "中国", "古代", "的", "伟大", "工程"]),
    ],
)
def test_words_of_a_text(code, text, found):
    needs(code)
    language = Language(code)
    assert language.find(normalised(text)) == found
    placed = words_at(text, language)
    assert [word for word, _, _ in placed] == found
    assert all(language.find(normalised(text[start:end])) == [word] for word, start, end in placed)


@pytest.mark.parametrize("code", ["de", "hi", "ja", "zh"])
@given(text=st.text(max_size=60) | st.text(st.sampled_from("a1_ .、山のｶﾞáक्षß\0\n\u200d\u0301\ud55c"), max_size=60))
def test_words_and_their_places_agree_in_any_text(code, text):
    """So whatever is marked in a text, and whatever explains its score, are the words that made it."""
    needs(code)
    language = Language(code)
    same = normalised(text)
    found = language.find(same)
    placed = words_at(same, language)
    assert [word for word, _, _ in placed] == found
    assert all(0 <= start < end <= len(same) for _, start, end in placed)
    assert all(find_words(word) and language.stem(word) is not None for word in found)


@pytest.mark.slow
@pytest.mark.parametrize("code", sorted(SEGMENTED))
def test_no_text_hides_its_words_or_stops_the_clock(code):
    """MeCab ends at a NUL, and takes the square of the length of a word."""
    needs(code)
    language = Language(code)
    assert language.find("\0a\0b山") == ["a", "b", "山"]

    def find(length):
        assert language.find("a" * length) == ["a" * length]
        assert "".join(language.find("山" * length)) == "山" * length

    assert grows_less_than(10**2 / 2, lambda: find(20_000), lambda: find(200_000))


def test_forms_that_a_language_changes_are_one_word():
    assert len({Language("ru").stem(word) for word in ("алгоритм", "алгоритмы", "алгоритмов")}) == 1
    assert len({Language("de").stem(word) for word in ("häuser", "häusern")}) == 1
    assert Language("es").stem("publicó") == Language("es").stem("publicado")
    assert Language("de").plain("grösser") == "grosser"
    needs("zh")
    assert Language("zh").plain("萬里長城") == Language("zh").plain("万里长城")


@pytest.mark.slow
@pytest.mark.parametrize("code", ["en", "de", "ru", "es"])
def test_a_stem_weighs_what_all_its_words_do(code):
    """By a sum over the common words, one by one. What every text has weighs little; what no list has, most."""
    import wordfreq

    language, table = Language(code), background(code, stems=True)
    word = {"en": "happy", "de": "jahre", "ru": "года", "es": "años"}[code]
    common = wordfreq.get_frequency_dict(code, wordlist="small")
    same = sum(frequency for other, frequency in common.items() if language.stem(other) == language.stem(word))
    assert table[language.stem(word)] == pytest.approx(-math.log(-math.expm1(-same * 100)))
    assert table[language.stem({"en": "the", "de": "die", "ru": "и", "es": "de"}[code])] < 1
    assert table["xqzzyqx"] == max(table[language.stem(w)] for w in ("xqzzyqx", word))


@pytest.mark.slow
@pytest.mark.parametrize("code", ["en", "de", "ru", "es", "ja"])
def test_near_copies_get_what_they_get_in_english(code):
    """On sentences of our own (judgements/languages), with nothing but the language set: nearly as probable as
    English near-copies, and not less than without the setting, and near misses no more."""
    needs(code)
    experiment = runpy.run_path(str(ROOT / "experiments" / "languages.py"))
    chances = experiment["chances"]
    english, _ = chances("en", "")
    own, other = chances(code, experiment["SETTINGS"]["default"])
    mean = sum(own) / len(own)
    assert mean >= sum(english) / len(english) - 0.07
    assert sum(other) / len(other) < 0.2
    if code != "en":
        before, _ = chances(code, "")
        assert mean > sum(before) / len(before) - 0.02


@pytest.mark.slow
def test_the_language_is_said_in_signature_notes_and_at_night(german, capsys):
    scores = score(german, "b")
    assert ",language=de,snowball=" in scores.signature
    assert "|idf:wordfreq-de|" in scores.signature
    assert any("The language is German (de)" in note for note in scores.notes)
    for command in (["score", "b"], ["diff", "a", "b"], ["nightly", "b"]):
        assert main([*command, "--collection", str(german.root)]) == 0
        assert "The language is German (de)" in capsys.readouterr().out


@pytest.mark.slow
def test_after_a_change_of_language_builds_are_scored_again_and_can_be_compared(copy_of_small_sample, tmp_path, capsys):
    root = copy_of_small_sample(tmp_path / "qa")
    for build, toml in (("build-101", ""), ("build-102", ""), ("build-103", '[match]\nlanguage = "de"\n')):
        (root / "nuggeteer.toml").write_text(toml)
        assert main(["nightly", build, "--collection", str(root)]) in (0, 1)
    assert "against build-102" in capsys.readouterr().out
    assert main(["history", "--collection", str(root), "--json", str(tmp_path / "history.json")]) == 0
    (trend,) = json.loads((tmp_path / "history.json").read_text())["trends"]
    assert [build["comparable"] for build in trend["builds"]] == [True] * 3
    assert all("wordfreq-de" in build["signature"] for build in trend["builds"])


@pytest.mark.slow
def test_everything_works_in_another_language(german, tmp_path):
    """Marks, explanations, what verdicts carry over, and workers."""
    scorer = Scorer(german)
    marker = Marker(scorer.ngrams)
    text = "Ein größeres Haus wurde gebaut."
    assert [text[start:end] for start, end in marker(text, 0)] == ["größeres Haus"] or marker(text, 0)
    changed = diff(german, "a", "b", explain=True)
    assert changed.key is german.key
    explanation = scorer.matcher.explain(text, 0)
    assert any(word.in_text for word in explanation.words)
    assert score(german, ["a", "b"], jobs=2)["b"].measures == score(german, ["a", "b"])["b"].measures
    for one in (Language("ru"), background("ru", True)):
        pickle.loads(pickle.dumps(one))


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ('language = "German"', "write 'de' for German; the languages are ar, "),
        ('language = "th"', "the languages are ar, bg, "),
        ('language = "uk"\nstem = true', "there are no stems of Ukrainian (uk); leave stem out"),
        ('language = "sh"\nstopwords = "remove"', "there are no stop words of Serbian, Croatian, Bosnian (sh)"),
        ('language = "ru"\nmatcher = "rouge"', "matcher 'rouge' cannot read Russian (ru)"),
        ('language = "ru"\nstem = false\nidf = "t.idf"', "idf is a table, and its weights are those of stems"),
    ],
)
def test_what_a_language_does_not_have_is_refused(tmp_path, toml, message):
    (tmp_path / "nuggeteer.toml").write_text(f"[match]\n{toml}\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_settings(tmp_path / "nuggeteer.toml")
    assert message in str(caught.value)


def test_measures_of_texts_are_of_the_language_or_refused(german):
    assert score(german, "b", ["pourpre_f3"])["b"].measures["pourpre_f3"].value > 0
    with pytest.raises(NuggeteerError, match=r"rouge1 knows ASCII letters only, and the language is German \(de\)"):
        score(german, "b", ["rouge1"])


@pytest.mark.slow
@pytest.mark.parametrize("matcher", ["ngram", "pourpre", "qaviar", "learned"])
def test_every_matcher_of_words_says_the_language_in_its_signature(german, matcher):
    for more in ("", 'informative = "responses"\n' if matcher == "ngram" else ""):
        toml = f'[match]\nlanguage = "de"\nmatcher = "{matcher}"\n{more}'
        (german.root / "nuggeteer.toml").write_text(toml, encoding="utf-8")
        assert "language=de,snowball=" in score(read_collection(german.root), "b").signature


def test_stems_are_the_default_where_there_are_stems(tmp_path):
    for code, stem in (("en", False), ("de", True), ("ja", False), ("uk", False)):
        (tmp_path / "nuggeteer.toml").write_text(f'[match]\nlanguage = "{code}"\n', encoding="utf-8")
        assert read_settings(tmp_path / "nuggeteer.toml").match == Match(language=code, stem=stem)


def test_a_table_is_of_a_language(tmp_path, german, capsys):
    documents = tmp_path / "news.txt"
    documents.write_text("Die Häuser sind größer.\nDas Haus\n", encoding="utf-8")
    table = german.root / "t.idf"
    assert main(["idf", str(documents), "--language", "de", "--out", str(table)]) == 0
    lines = table.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# nuggeteer idf 1; language: de; documents: 2"
    assert "haus\t2" in lines
    assert read_table(table, "de").weights["haus"] == pytest.approx(math.log(3 / 2))
    with pytest.raises(InputError, match="make the table again with nuggeteer idf"):
        read_table(table)
    (german.root / "nuggeteer.toml").write_text('[match]\nlanguage = "de"\nidf = "t.idf"\n', encoding="utf-8")
    assert "|idf:t-" in score(read_collection(german.root), "b").signature
    write_table(tmp_path / "en.idf", ["a house"])
    with pytest.raises(InputError, match="--language de"):
        read_table(tmp_path / "en.idf", "de")
    assert main(["idf", str(documents), "--language", "xx", "--out", str(table)]) == 2
    assert "--language is 'xx'; the languages are" in capsys.readouterr().err


def test_without_its_packages_a_language_names_the_extra(monkeypatch):
    import sys

    for name in ("jieba", "MeCab", "wordfreq.chinese", "wordfreq.mecab"):
        monkeypatch.setitem(sys.modules, name, None)
    _segmenter.cache_clear()
    for code in ("zh", "ja"):
        with pytest.raises(NuggeteerError, match=r"install nuggeteer\[cjk\]"):
            _segmenter(code)


def test_nothing_is_read_from_or_written_to_the_folder_of_temporary_files(tmp_path, monkeypatch):
    """Where jieba would keep its tables for everybody, and read what anybody has put there."""
    import tempfile

    needs("zh")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    _segmenter.cache_clear()
    assert Language("zh").find("长城")
    assert list(tmp_path.iterdir()) == []


def test_the_page_lists_the_languages_and_the_recorded_figures():
    page = (ROOT / "docs" / "guides" / "languages.md").read_text(encoding="utf-8")
    listed = {
        kind: codes.split() for kind, codes in re.findall(r"^\| ([\w ,`]+) \| ((?:[a-z]{2,3} ?)+)\|$", page, re.M)
    }
    assert listed["with stems"] == [code for code in LANGUAGES if has_stemmer(code)]
    assert listed["cut into words, with the extra `cjk`"] == sorted(SEGMENTED)
    assert listed["without stop words"] == sorted(WITHOUT_STOP_WORDS)
    without = [code for code in LANGUAGES if not has_stemmer(code) and code not in SEGMENTED]
    assert listed["without stems"] == without
    recorded = (ROOT / "experiments" / "languages.md").read_text(encoding="utf-8")
    figures = {
        (name, kind): (near, other)
        for name, kind, near, other in re.findall(
            r"^\| (\w+) \| (as English|default) \| (\S+) \|.*\| (\S+) \| \S+ \|$", recorded, re.M
        )
    }
    for name, before, after, other in re.findall(r"^\| (\w+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", page, re.M):
        assert figures[name, "as English"][0] == before
        assert figures.get((name, "default"), figures[name, "as English"]) == (after, other)
