"""Strange nights: each kind is told by its words, and ordinary nights are not."""

from __future__ import annotations

import random

import numpy as np
import pytest

from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.memory import make_run
from nuggeteer.comparing.diff import diff
from nuggeteer.comparing.gate import rule
from nuggeteer.comparing.strange import ENOUGH, questions_of, strange_answers
from tests.conftest import shared

QUESTIONS = 12
SAID = [
    "The bridge was opened in 1932 by the mayor of the town, and it is still in use.",
    "It was designed by an engineer from Oslo who had built two others before the war.",
    "Most of the money came from a tax on salt, which was not popular with the fishermen.",
    "In winter it is closed when the wind is too strong, as it was in March of that year.",
]
GERMAN = "Die Brücke wurde vom Bürgermeister der Stadt eröffnet und wird noch heute benutzt, obwohl der Wind stark ist."
RUSSIAN = "Мост был открыт мэром города и используется до сих пор, хотя зимой здесь дуют сильные ветры."


def last_night():
    rng = random.Random(0)
    return [f"Answer {i}. " + " ".join(rng.sample(SAID, 3)) for i in range(QUESTIONS)]


def reworded(text):
    return text.replace("The bridge", "This bridge").replace("which was", "and it was").replace("Answer", "Reply")


KINDS = {
    "say the same to different questions": lambda i, text: SAID[0],
    "are refusals": lambda i, text: f"I'm sorry, but I cannot help with question {i}.",
    "refusals, and last": lambda i, text: f"The provided documents do not contain what answer {i} is.",
    "are refusals, and": lambda i, text: f"Based on the provided context, I am unable to say what {i} is.",
    "say not in most": lambda i, text: (
        text.replace(" was ", " was not ").replace(" is ", " is not ").replace("Most", "Not")
    ),
    '"nobody today believes"': lambda i, text: ". ".join(f"Nobody today believes that {s}" for s in text.split(". ")),
    '"it would be"': lambda i, text: ". ".join(f"It would be wrong to say that {s}" for s in text.split(". ")),
    '"it is a"': lambda i, text: ". ".join(f"It is a popular myth that {s}" for s in text.split(". ")),
    "deny what they say": lambda i, text: " ".join(f"It is not true that {one}" for one in text.split(". ")),
    "much shorter": lambda i, text: " ".join(text.split()[:5]),
    "in another language": lambda i, text: f"{GERMAN} {i}",
    "another language than": lambda i, text: f"{RUSSIAN} {i}",
    "hardly a word in common": lambda i, text: f"Pizza{i} {i}cheese tomatoes olive{i} basil dough{i}.",
}
ORDINARY = {
    "the same": lambda i, text: text,
    "reworded": lambda i, text: reworded(text),
    "one sentence less": lambda i, text: text.rpartition(". ")[0] + ".",
    "in another order": lambda i, text: ". ".join(reversed(text.rstrip(".").split(". "))) + ".",
    "one refusal": lambda i, text: "I don't know." if i == 3 else text,
    "not once": lambda i, text: text.replace("is still", "is not any longer"),
}


@pytest.fixture
def nights(collect):
    nuggets = [{"qid": f"q{i}", "nugget": "1", "text": "opened in 1932"} for i in range(QUESTIONS)]
    old = [(f"q{i}", text) for i, text in enumerate(last_night())]

    def make(change, share=1.0, judgements=()):
        new = [(q, change(i, text) if i < share * QUESTIONS else reworded(text)) for i, (q, text) in enumerate(old)]
        return collect(nuggets, {"old": old, "new": new}, judgements)

    return make


def found_in(collection):
    return strange_answers(collection.key, collection.settings.match, collection.run("old"), collection.run("new"))


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_named_with_its_questions(nights, kind):
    found = found_in(nights(KINDS[kind]))
    (line,) = [one for one in found if kind in one.what]
    assert set(line.questions) == set(range(QUESTIONS))
    assert line.what.endswith(".")


FEW = ("say the same", "are refusals", "deny what", "in another", "another language", "refusals, and")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith(FEW)])
def test_some_such_answers_are_enough_and_one_is_not(nights, kind):
    """A quarter of the answers are named, and these alone."""
    (line,) = [one for one in found_in(nights(KINDS[kind], 0.25)) if kind in one.what]
    assert set(line.questions) == set(range(QUESTIONS // 4))
    assert not found_in(nights(KINDS[kind], 1 / QUESTIONS))


@pytest.mark.parametrize("kind", ORDINARY)
def test_an_ordinary_night_is_not_strange(nights, kind):
    assert found_in(nights(ORDINARY[kind])) == ()


def test_empty_answers_are_named_and_cannot_pass(nights):
    """There is nothing to read in them, so nobody is told to."""
    collection = nights(lambda i, text: "", 0.25, [verdict_on(9, "old")])
    ruling = rule(diff(collection, "old", "new"), by=1.0)
    assert (ruling.decision, ruling.strange) == ("UNDECIDED", ("3 answers are empty, and last night's were not.",))
    assert ruling.reason.endswith("See why, and run it again.")
    assert found_in(nights(lambda i, text: "", 1 / QUESTIONS)) == ()


def verdict_on(i, run):
    return {"qid": f"q{i}", "nugget": "1", "text": last_night()[i], "verdict": True, "run": run}


def test_answers_to_other_questions_are_noticed(nights):
    """Each has a third of its words in common with all others, and so do last night's."""
    texts = [" ".join([*WORDS[:10], *WORDS[20 * i + 10 : 20 * i + 30]]) for i in range(QUESTIONS)]
    (found,) = between(nights, texts, texts[1:] + texts[:1])
    assert "no more like last night's than answers to other questions" in found.what
    assert between(nights, texts, texts[::-1][::-1]) == ()


WORDS = [f"{consonant}{vowel}{end}" for consonant in "bdfgklmnprst" for vowel in "aeiou" for end in "lnrst"]


@pytest.mark.parametrize(("words", "said"), [(8, False), (7, True)])
def test_much_shorter_is_less_than_two_fifths(nights, words, said):
    """Of the usual answer, which has 20 words."""
    texts = [" ".join(WORDS[20 * i : 20 * i + 20]) for i in range(QUESTIONS)]
    assert any("shorter" in one.what for one in between(nights, texts, [cut(text, words) for text in texts])) == said


@pytest.mark.parametrize(("shared_words", "said"), [(1, False), (0, True)])
def test_hardly_a_word_is_less_than_one_of_twenty(nights, shared_words, said):
    texts = [" ".join(WORDS[20 * i : 20 * i + 20]) for i in range(QUESTIONS)]
    others = [f"{cut(text, shared_words)} {cut(text[::-1].upper(), 20 - shared_words)}" for text in texts]
    assert any("in common" in one.what for one in between(nights, texts, others)) == said


def cut(text, words):
    return " ".join(text.split()[:words])


def between(nights, old, new):
    """What is strange about these answers, after those."""
    collection = nights(lambda i, text: text)
    runs = [
        make_run(collection, name, [(f"q{i}", t) for i, t in enumerate(own)]) for name, own in (("x", old), ("y", new))
    ]
    return strange_answers(collection.key, collection.settings.match, *runs)


def test_what_last_night_had_too_is_not_strange(collect):
    """A system that refuses every night, denies every night, or speaks another language."""
    nuggets = [{"qid": f"q{i}", "nugget": "1", "text": "opened"} for i in range(QUESTIONS)]
    for kind in ("are refusals", "deny what they say", "in another language"):
        runs = {n: [(f"q{i}", KINDS[kind](i, text)) for i, text in enumerate(last_night())] for n in ("old", "new")}
        runs["new"] = [(q, f"{text} Again.") for q, text in runs["new"]]
        assert found_in(collect(nuggets, runs, folder=kind.split()[-1])) == ()


def test_it_cannot_pass_until_a_few_of_these_answers_were_read(nights):
    """Nor does reading other answers help."""
    texts = [f"{KINDS['are refusals'](i, '')}" if i < 6 else reworded(t) for i, t in enumerate(last_night())]

    def ruled(*questions):
        said = [{"qid": f"q{i}", "nugget": "1", "text": texts[i], "verdict": False, "run": "new"} for i in questions]
        old = {"qid": "q9", "nugget": "1", "text": last_night()[9], "verdict": True, "run": "old"}
        return rule(diff(nights(KINDS["are refusals"], 0.5, [old, *said]), "old", "new"), by=1.0)

    for questions in ((), (0, 1), (6, 7, 8, 9)):
        ruling = ruled(*questions)
        assert (ruling.decision, len(ruling.strange)) == ("UNDECIDED", 1)
        assert ruling.reason.startswith("6 answers are refusals")
    assert ruled(0, 2, 5).decision == "PASS"


def test_answers_of_several_empty_responses_are_empty(collect):
    """As a program that makes a run in memory may have them."""
    nuggets = [{"qid": f"q{i}", "nugget": "1", "text": "opened"} for i in range(QUESTIONS)]
    collection = collect(nuggets, {"old": [(f"q{i}", text) for i, text in enumerate(last_night())]})
    nothing = [(f"q{i}", text) for i in range(1, QUESTIONS) for text in ("", " ")]
    new = make_run(collection, "new", [("q0", last_night()[0]), *nothing])
    (one,) = strange_answers(collection.key, collection.settings.match, collection.run("old"), new)
    assert one.empty
    assert one.questions == tuple(range(1, QUESTIONS))


@pytest.mark.parametrize("whole", [False, True])
def test_an_answer_of_which_a_sentence_was_read_elsewhere_was_not_read(collect, whole):
    """Another system says the same in its last sentence, and somebody judged that."""
    nuggets = [{"qid": f"q{i}", "nugget": "1", "text": "opened"} for i in range(QUESTIONS)]
    said = [(f"q{i}", [KINDS["are refusals"](i, ""), SAID[0]]) for i in range(QUESTIONS)]
    runs = {
        "old": [(f"q{i}", text) for i, text in enumerate(last_night())],
        "new": [(qid, text) for qid, texts in said for text in texts],
    }
    verdicts = [
        {"qid": qid, "nugget": "1", "text": text, "verdict": text == SAID[0], "run": "other"}
        for qid, texts in said
        for text in (texts if whole else texts[1:])
    ]
    found = diff(collect(nuggets, runs, verdicts), "old", "new").strange
    assert bool(found) != whole


def test_a_few_questions_of_each_kind_are_read_first(nights):
    found = found_in(nights(KINDS["are refusals"]))
    assert len(set(questions_of(found))) >= ENOUGH
    assert set(questions_of(found)) <= set(range(QUESTIONS))


@pytest.mark.slow
def test_the_nights_of_a_public_collection_are_ordinary():
    """Mixtures of two systems of SummHay, where both answer: of so unlike nights few are called strange."""
    collection = read_collection(shared("summhay"))
    rng, names, strange, count = np.random.default_rng(0), collection.run_names, 0, 30
    for _ in range(count):
        old, other = (collection.run(names[i]) for i in rng.permutation(len(names))[:2])
        mixed = []
        for number, question in enumerate(collection.key.questions):
            both = all(np.diff(run.offsets)[number] for run in (old, other))
            run = old if rng.random() < 0.5 or not both else other
            mixed += [(question.qid, text) for text in run.texts[slice(*run.offsets[number : number + 2])]]
        new = make_run(collection, "mixed", mixed)
        strange += bool(strange_answers(collection.key, collection.settings.match, old, new))
    assert strange <= 0.1 * count
