"""The name of the rule that a build's words were made with: its version, and the language that words are stemmed in."""

from typing import Final

from headwater.errors import ValidationError
from headwater.lexical.stems import LANGUAGES

# Another number whenever any text gives other terms, a stemmer's release included, or passages are listed by other tiers.
LEXICON: Final = "words-2"
UNTIERED: Final = "words-1"  # the same terms without tiers: such builds are read and written as they are
DEFAULT_LANGUAGE: Final = "english"


def check_language(language: str) -> str:
    """``language`` in lower case; one that has no stemmer is an error that names those which have one."""
    known = language.strip().lower()
    if known not in LANGUAGES:
        raise ValidationError(f"language {language!r} is unknown: use {', '.join(sorted(LANGUAGES))}.")
    return known


def lexicon_of(language: str) -> str:
    """What a new build keeps: ``words-2:english``."""
    return f"{LEXICON}:{check_language(language)}"


def language_of(lexicon: str) -> str:
    """The language of a build's words. One that was made by another rule can neither be searched nor written by this one."""
    if not is_known(lexicon):
        raise ValidationError(
            f"The words of this corpus were indexed by the rule {lexicon!r}, and this release has {LEXICON!r}: use the release "
            "that indexed it, or re-index the corpus (headwater reindex)."
        )
    return lexicon.partition(":")[2]


def is_known(lexicon: str) -> bool:
    """Whether this release can read and write the words of a build."""
    rule, _, language = lexicon.partition(":")
    return rule in (LEXICON, UNTIERED) and language in LANGUAGES


def has_tiers(lexicon: str) -> bool:
    """Whether a build's passages are listed by tiers too."""
    return lexicon.partition(":")[0] != UNTIERED
