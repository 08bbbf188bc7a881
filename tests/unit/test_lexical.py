"""Which terms a text has: the same for a document and for a question, however a word is spelled, for any text at all."""

import re
import time
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.errors import ValidationError
from headwater.lexical import (
    LANGUAGES,
    TERM_IDS,
    analyse,
    check_language,
    language_of,
    lexicon_of,
    saturated,
    term_id,
)
from headwater.lexical.words import PART_LENGTH, SUB_PARTS, WHOLE_LENGTH

USUAL = settings(deadline=None, database=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
SOME_LANGUAGES = st.sampled_from(["english", "german", "russian", "arabic", "turkish", "none"])
SCRIPTS = (
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    "äöüßéèêëñçåøæœđłığşİȘőűĐŁÅŻ",
    "абвгдеёжзийклмнопАБВЙЁїўґ",
    "αβγδέώΆΈΣς",
    "的一是不了人東京日本語ひらがなカタカナ한국어ｶﾞｷﾞ々ー",
    "ภาษาไทยກາຂ",
    "हिन्दीবাংলাதமிழ்",
    "אבגדהָּשׁعربيةِّمَ٣٤",
    "\u0301\u0308\u0323\u3099\u093f\u200d\u00ad\ufe0f",
    "..__--''/\\@:+#’‐,",
    "    \n\t",
    "ﬁⅣ½①ＡＢＣ１２３",
)
TEXTS = st.lists(
    st.one_of(*[st.text(alphabet=script, max_size=8) for script in SCRIPTS], st.text(max_size=8)), max_size=12
).map("".join)


def terms(text: str, language: str = "english") -> list[str]:
    return [token.term for token in analyse(text, language)]


def words_by_unicode(text: str) -> list[str]:
    """Words of a text by a rule that has nothing to do with ours: letters, digits and what belongs to them, between anything else."""
    seen = "".join(letter for letter in text if letter == "\u200b" or unicodedata.category(letter) != "Cf")
    spelled = "".join(letter if unicodedata.category(letter)[0] in "LNM" else " " for letter in seen)
    return [word for word in spelled.split() if any(unicodedata.category(letter)[0] in "LN" for letter in word)]


@USUAL
@given(TEXTS, SOME_LANGUAGES)
def test_any_word_of_any_text_finds_it(text: str, language: str) -> None:
    found = set(terms(text, language))
    for word in [*words_by_unicode(text), *text.split()]:
        asked = terms(word, language)
        assert found.intersection(asked) or not asked, (word, asked)
    assert all(terms(word, language) for word in words_by_unicode(text))


@USUAL
@given(TEXTS, SOME_LANGUAGES)
def test_case_and_spelling_by_code_points_make_no_difference_to_what_is_found(text: str, language: str) -> None:
    found = set(terms(text, language))
    for spelled in (unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")):
        assert set(terms(spelled, language)) == found
    for spelled in (text.upper(), text.lower(), text.casefold(), text.swapcase()):
        for word in spelled.split():
            asked = terms(word, language)
            assert found.intersection(asked) or not asked, (word, asked)


@USUAL
@given(TEXTS)
def test_places_are_those_of_words_in_their_order(text: str) -> None:
    places = [token.position for token in analyse(text, "english")]
    assert places == sorted(places)
    assert set(places) == set(range(1, len(set(places)) + 1))
    assert all(token.term for token in analyse(text, "english"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cats, running", ["the", "cat", "run"]),
        ("snake_case", ["snakecas", "snake", "case"]),
        ("camelCase", ["camelcas", "camel", "case"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("Get-ChildItem", ["getchilditem", "get", "childitem", "child", "item"]),
        ("v1.2.3", ["v1.2.3", "v1", "v", "1", "2", "3"]),
        ("10.0.0.1", ["10.0.0.1", "10", "0", "0", "1"]),
        ("RFC-2616", ["rfc2616", "rfc", "2616"]),
        ("RFC2616", ["rfc2616", "rfc", "2616"]),
        ("foo@bar.com", ["foo@barcom", "foo", "barcom", "bar", "com"]),
        ("/usr/lib64/libc.so", ["usr/lib64/libcso", "usr", "lib64", "lib", "64", "libcso", "libc", "so"]),
        ("1,000,000", ["1000000", "1", "000", "000"]),
        ("3.14", ["3.14", "3", "14"]),
        ("C++ C# c", ["c++", "c", "c#", "c", "c"]),
        ("issue #42", ["issu", "42"]),
        ("don't", ["dont", "don", "t"]),
        ("東京", ["東", "東京", "京"]),
        ("iPhone手机", ["iphon", "i", "phone", "手", "手机", "机"]),
        ("한국", ["한", "한국", "국"]),
        ("ไทย", ["ไ", "ไท", "ท", "ทย", "ย"]),
        ("résumé", ["resum", "resume"]),
        ("٣", ["3"]),
        ("Straße", ["strass"]),
        ("soft\u00adhyphen", ["softhyphen"]),
        ("", []),
        ("… — !", []),
    ],
)
def test_the_terms_of_some_texts(text: str, expected: list[str]) -> None:
    assert sorted(terms(text)) == sorted(expected)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("resume", "résumé"),
        ("Muller", "Müller"),
        ("read_file", "readFile"),
        ("read-file", "readfile"),
        ("e-mail", "email"),
        ("U.S.A.", "USA"),
        ("covid-19", "COVID19"),
        ("1000000", "1,000,000"),
        ("ёлка", "елка"),
        ("ＡＢＣ", "abc"),
        ("ｶﾞ", "ガ"),
        ("Άγγελος", "ΑΓΓΕΛΟΣ"),
        ("שָׁלוֹם", "שלום"),
        ("مُحَمَّد", "محمد"),
        ("connection", "connected"),
        ("l'homme", "homme"),
        ("Łódź", "lodz"),
    ],
)
def test_spellings_of_one_word_find_each_other(one: str, other: str) -> None:
    assert set(terms(one)) & set(terms(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("й", "и"),
        ("が", "か"),
        ("ї", "і"),
        ("ब", "भ"),
        ("1.2", "12"),
        ("कि", "की"),
        ("ぱ", "は"),
        ("ㄱ", "ㄴ"),
        ("أ", "ب"),
    ],
)
def test_letters_and_numbers_that_are_others_stay_so(one: str, other: str) -> None:
    assert terms(one)[:1] != terms(other)[:1]


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_every_language_has_its_stems(language: str) -> None:
    assert terms("Das Haus und die Häuser, слово, كتاب", language)
    assert language_of(lexicon_of(language.upper() + " ")) == language


def test_without_a_language_words_stay_as_they_are() -> None:
    assert terms("running cats", "none") == ["running", "cats"]


def test_a_language_that_nobody_stems_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValidationError, match=r"language 'klingon' is unknown: use arabic, .*yiddish"):
        check_language("klingon")
    for foreign in ("words-0:english", "words-2:klingon", "words-2", ""):
        with pytest.raises(ValidationError, match="re-index the corpus"):
            language_of(foreign)


HUGE = {
    "a word": "x" * 1_000_000,
    "marks": "a" + "\u0301\u0323" * 50_000,
    "vowel signs": "क" + "\u093f" * 100_000,
    "a name of names": "aB" * 20_000,
    "a path": "a/" * 20_000,
    "dots": "a." * 20_000,
    "no spaces": "東" * 20_000,
    "letters of many letters": "\ufdfa" * 5_000,
    "joints": "a" + "_" * 100_000 + "b",
}


@pytest.mark.parametrize("text", HUGE.values(), ids=HUGE)
def test_no_text_takes_long_or_gives_much(text: str) -> None:
    began = time.process_time()
    found = terms(text)
    assert time.process_time() - began < 3.0
    assert len(found) <= 3 * 18 * len(text)
    assert max(map(len, found)) <= max(WHOLE_LENGTH, PART_LENGTH)


def test_a_part_has_few_words() -> None:
    assert len(terms("aB" * 30)) <= 1 + SUB_PARTS


def test_numbers_of_terms_are_the_same_everywhere() -> None:
    """They are stored: another hash would find nothing."""
    assert (term_id("cat"), term_id("東京"), term_id("")) == (713757371, 32495173, 309448485)
    assert all(0 <= term_id(f"t{number}") < TERM_IDS for number in range(1_000))
    assert len({term_id(f"t{number}") for number in range(10_000)}) > 9_990


def test_the_stems_are_those_that_corpora_were_indexed_with() -> None:
    """A release that stems otherwise is another lexicon: raise LEXICON with it."""
    assert [terms(word)[0] for word in ("happiness", "relational", "skies", "dying", "generously")] == [
        "happi",
        "relat",
        "sky",
        "die",
        "generous",
    ]


def test_weights_are_those_of_bm25() -> None:
    assert saturated(1, length=100, average=100) == pytest.approx(1.0)
    assert saturated(1_000_000, length=1, average=100) < 2.2
    assert saturated(2, length=50, average=100) == pytest.approx(2 * 2.2 / (2 + 1.2 * (0.25 + 0.375)))


def test_threads_share_one_rule() -> None:
    texts = [f"Running {number} organizations_{number} nationalités" for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        at_once = list(pool.map(terms, texts))
    assert at_once == [terms(text) for text in texts]
    assert re.fullmatch(r"\w+", at_once[0][0])
