"""Okapi BM25 over texts in memory, with the tokenizer of that profile: small sets, no store, no model."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from headwater.errors import ValidationError

K1: Final = 1.5
B: Final = 0.75

_CJK: Final = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_RUN: Final = re.compile(rf"[a-z0-9]+|[{_CJK}]+")


def tokenize(text: str) -> list[str]:
    """Lower-cased: runs of ASCII letters and digits as words; Chinese characters one by one, and each two in a row."""
    tokens: list[str] = []
    for run in _RUN.findall(text.lower()):
        tokens += [run] if run.isascii() else [*run, *map("".join, pairwise(run))]
    return tokens


def bm25_scores(
    query_tokens: Iterable[str], docs_tokens: Sequence[Sequence[str]], k1: float = K1, b: float = B
) -> list[float]:
    """How well each document matches. A token counts as often as the query has it: idf is ``ln(1 + (N - df + .5) / (df + .5))``."""
    if not (k1 >= 0 and 0 <= b <= 1 and math.isfinite(k1)):
        raise ValidationError(f"k1 must be from 0 and b from 0 to 1, not {k1} and {b}.")
    counts = [Counter(tokens) for tokens in docs_tokens]
    average = sum(map(len, docs_tokens)) / len(docs_tokens) if docs_tokens else 0.0
    asked = Counter(query_tokens)
    holding = {token: sum(token in count for count in counts) for token in asked}
    scores = []
    for count, tokens in zip(counts, docs_tokens, strict=True):
        length = k1 * (1 - b + b * len(tokens) / average) if average else 0.0
        score = 0.0
        for token, times in asked.items():
            if found := count[token]:
                idf = math.log(1 + (len(counts) - holding[token] + 0.5) / (holding[token] + 0.5))
                score += times * idf * found * (k1 + 1) / (found + length)
        scores.append(score)
    return scores
