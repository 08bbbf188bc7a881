"""Where builds lie: the partition of ``chunk`` that a question is asked in.

It stands in the statement as a literal, so that the plan reads that partition alone. What is remembered here may be out of
date: then the answer says where the build is, and holds nothing.
"""

from typing import Final

from headwater.limits import ROUTES
from headwater.models import Scope

SHARED: Final = 0  # the partition of all small builds


class Routes:
    """What one retriever has learnt. The shared partition is what nobody has to learn."""

    def __init__(self) -> None:
        self._slabs: dict[tuple[Scope, int | None], int] = {}

    def of(self, scope: Scope, generation: int | None) -> int:
        """Where the build lay when somebody looked last. Without a generation: the one that readers see."""
        return self._slabs.get((scope, generation), SHARED) if self._slabs else SHARED

    def learn(self, scope: Scope, generation: int | None, slab: int) -> None:
        """The build lies in ``slab``."""
        if slab == SHARED:
            self._slabs.pop((scope, generation), None)
            return
        if len(self._slabs) >= ROUTES:
            self._slabs.clear()  # it costs a statement each to learn them again
        self._slabs[scope, generation] = slab
