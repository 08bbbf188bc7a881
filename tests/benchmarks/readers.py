"""Who may read how much of the large corpus: shares of its sources at random, and the same shares by topic."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from headwater import Authorization
from tests.benchmarks.multiplied import TOPICS, Multiplied


@dataclass(frozen=True, slots=True)
class Reader:
    """A principal, who has a share of the sources: any, or all those of some topics and none of the others."""

    name: str
    share: float
    is_by_topic: bool = False

    @property
    def authorization(self) -> Authorization:
        return Authorization(principal_id=self.name, tenant_id="t1")

    def may_read(self, corpus: Multiplied) -> NDArray[np.bool_]:
        """For each source."""
        drawn = np.random.default_rng(list(self.name.encode())).random(corpus.source_count)
        if not self.is_by_topic:
            may: NDArray[np.bool_] = drawn < self.share
            return may
        order = np.random.default_rng(7).permutation(TOPICS)
        whole = max(1, round(self.share * TOPICS))  # topics
        may = np.isin(corpus.topics, order[:whole])
        return may & (drawn < self.share * TOPICS) if self.share * TOPICS < 1 else may


ALL: Final = Reader("all", 1.0)
READERS: Final = (
    ALL,
    Reader("half", 0.5),
    Reader("tenth", 0.1),
    Reader("hundredth", 0.01),
    Reader("thousandth", 0.001),
    Reader("topics-half", 0.5, is_by_topic=True),
    Reader("topics-fifth", 0.2, is_by_topic=True),
    Reader("topics-tenth", 0.1, is_by_topic=True),
    Reader("topics-hundredth", 0.01, is_by_topic=True),
    Reader("topics-thousandth", 0.001, is_by_topic=True),
)
