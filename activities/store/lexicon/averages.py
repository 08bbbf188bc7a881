"""How long a build's passages are on average: measured at its first ones that have words, then never changed, since every weight rests on it."""

from collections.abc import Sequence
from typing import Final

from activities.store.database import Store
from activities.store.lexicon.passage import Lexicon, passage_terms
from activities.store.scopes import LiveBuild
from activities.store.sql import queries
from headwater.chunking.profile import ChunkingProfile
from headwater.lexical import has_tiers, language_of

# The first passages may be few and unlike the rest: a corpus often begins with a note of three lines. So they count beside this
# many that are as long as passages of that size mostly are, in the words of the first ones.
EXPECTED: Final = 8
FILLED: Final = 0.6
# Text with fewer terms than one in so many characters is drawn, not written: a row of dashes says nothing of how much words take.
CHARACTERS_OF_A_TERM: Final = 20
UNDECIDED: Final = 1.0  # for passages without a term, which nothing is weighed by; no measure is as short


def lexicon_for(store: Store, build: LiveBuild, texts: Sequence[str]) -> Lexicon | None:
    """What the build's passages are written by; measured at ``texts`` if they are its first with words. None: it has no lexicon."""
    if build.lexicon is None or not texts:
        return None
    language, is_tiered = language_of(build.lexicon), has_tiers(build.lexicon)
    if build.avgdl is not None:
        return Lexicon(language, build.avgdl, is_tiered)
    sizes = [(length, len(text)) for text in texts if (length := passage_terms(text, language).length)]
    if not sizes:
        return Lexicon(language, UNDECIDED, is_tiered)  # signs and drawings decide nothing
    lengths, characters = zip(*sizes, strict=True)
    measured = average(lengths, sum(characters), ChunkingProfile.from_fingerprint(build.chunker))
    key = {"build_id": build.build_id, "avgdl": measured}
    sql = queries(store.schema, "lexicon")
    with store.connection() as connection:
        frozen = connection.execute(sql["freeze_average"], key).fetchone()
        if frozen is None:  # another batch came first
            frozen = connection.execute(sql["average"], key).fetchone()
    return None if frozen is None else Lexicon(language, float(frozen[0]), is_tiered)


def average(lengths: Sequence[int], characters: int, profile: ChunkingProfile) -> float:
    """Terms of a passage: from the ``lengths`` of the first ones, which have so many ``characters`` together."""
    terms = sum(lengths)
    expected = FILLED * profile.size * terms / min(characters, terms * CHARACTERS_OF_A_TERM)
    if profile.max_tokens is not None:
        expected = min(expected, float(profile.max_tokens))  # of scripts without spaces a model reads fewer characters
    return (terms + EXPECTED * expected) / (len(lengths) + EXPECTED)
