"""Where builds lie and how their terms were made: the partition of ``chunk`` that a question is asked in, and the lexicon.

The partition stands in the statement as a literal, so that the plan reads that partition alone; a query is cut into terms as
the build's passages were. What is remembered here may be out of date: then the answer says how the build is, and holds nothing.
"""

from dataclasses import dataclass
from typing import Final

from headwater.lexical import DEFAULT_LANGUAGE, lexicon_of
from headwater.limits import ROUTES
from headwater.models import Scope

SHARED: Final = 0  # the partition of all small builds


@dataclass(frozen=True, slots=True)
class Route:
    """What has to be known of a build before it can be asked."""

    slab: int = SHARED
    lexicon: str | None = lexicon_of(DEFAULT_LANGUAGE)  # None: it has no terms


USUAL: Final = Route()


class Routes:
    """What one retriever has learnt. The usual route is what nobody has to learn."""

    def __init__(self) -> None:
        self._routes: dict[tuple[Scope, int | None], Route] = {}

    def of(self, scope: Scope, generation: int | None) -> Route:
        """How the build was when somebody looked last. Without a generation: the one that readers see."""
        return self._routes.get((scope, generation), USUAL) if self._routes else USUAL

    def learn(self, scope: Scope, generation: int | None, route: Route) -> None:
        """The build is so."""
        if route == USUAL:
            self._routes.pop((scope, generation), None)
            return
        if len(self._routes) >= ROUTES:
            self._routes.clear()  # it costs a statement each to learn them again
        self._routes[scope, generation] = route
