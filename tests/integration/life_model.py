"""What a corpus should show, in plain Python: the rules of a source's life without a database, SQL or a plan.

The model knows texts, who may read them, and what hides them. It takes the numbers of generations from the store, which
gives them out, and nothing else.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

HIDING: Final = ("legal_hold", "revoked", "forgotten")  # the strongest first
Shown = dict[str, tuple[str, ...]]


@dataclass(eq=False)
class Text:
    """One version that was staged, and perhaps published."""

    content: "Content"
    passages: tuple[str, ...]
    parents: list[str]
    base_gen: int  # the head before it was read
    seq: int  # order of readings
    is_published: bool = False
    is_dead: bool = False  # deleted, or something newer stands in place of what was forgotten
    is_empty: bool = False  # its passages were removed


@dataclass(eq=False)
class Content:
    """What keeps together when it is renamed: the texts of one source, and the fence of its last deletion."""

    texts: list[Text] = field(default_factory=list)
    fence_gen: int = 0


@dataclass(frozen=True)
class Tombstone:
    reason: str
    gen: int


State = dict[Content, Text]


@dataclass(frozen=True)
class Pushed:
    """A line of a page: a staged text for an id, and the grants that come with it; None: they stay."""

    source_id: str
    text: Text
    grants: frozenset[str] | None


@dataclass
class Model:
    build: int
    ids: dict[str, Content] = field(default_factory=dict)
    grants: dict[str, set[str]] = field(default_factory=dict)
    expiring: dict[str, set[str]] = field(default_factory=dict)
    tombstones: dict[str, Tombstone] = field(default_factory=dict)
    log: list[tuple[int, int, State]] = field(default_factory=list)  # generation, build, what it shows
    pointer: int = 0
    is_pinned: bool = False

    def visible(self, names: Collection[str], generation: int | None = None) -> Shown:
        """The passages that somebody of these names may read, now or as of a retained generation."""
        state = self._at_pointer() if generation is None else self._at(generation)
        of = {content: source_id for source_id, content in self.ids.items()}
        return {
            of[content]: text.passages
            for content, text in state.items()
            if not text.is_dead and not text.is_empty and text.passages
            if self._is_granted(of[content], names) and not self._is_hidden(of[content], text)
        }

    def _is_granted(self, source_id: str, names: Collection[str]) -> bool:
        granted = self.grants.get(source_id, set()) | self.expiring.get(source_id, set())
        return not granted.isdisjoint(names)

    def _is_hidden(self, source_id: str, text: Text) -> bool:
        own = self.tombstones.get(source_id)
        if own is not None and own.reason != "corrected":
            return True
        others = [parent for parent in text.parents if source_of(parent) != source_id]
        return any(parent in self.tombstones or source_of(parent) in self.tombstones for parent in others)

    def _at_pointer(self) -> State:
        return next(
            (state for gen, build, state in reversed(self.log) if build == self.build and gen <= self.pointer), {}
        )

    def _at(self, generation: int) -> State:
        return next((state for gen, _, state in reversed(self.log) if gen <= generation), {})

    def _at_head(self) -> State:
        return next((state for _, build, state in reversed(self.log) if build == self.build), {})

    @property
    def build_head(self) -> int:
        return next((gen for gen, build, _ in reversed(self.log) if build == self.build), 0)

    @property
    def is_rolled_back(self) -> bool:
        return not self.is_pinned and self.pointer < self.build_head

    def publish(self, lines: Sequence[Pushed], head: int, walks: Mapping[str, Collection[str]]) -> dict[str, bool]:
        """Whether each line is published, from ``head`` on. ``walks`` are what rests on each, as the store found it."""
        base = self._at_pointer() if self.is_rolled_back else self._at_head()
        accepted = [line for line in lines if self._is_publishable(line, base)]
        hidden, spared = self._inherited(accepted, walks)
        if accepted:
            gen = head + 1
            if self.is_rolled_back:
                base = {content: text for content, text in base.items() if not text.is_dead}
                self.log.append((gen, self.build, base))
                gen += 1
            for line in accepted:
                if self._is_forgotten(line.source_id):
                    del self.tombstones[line.source_id]
                    self._kill(line.text.content, gen - 1, but=line.text)
                if line.source_id in spared:  # as if its older texts had been hidden first, and then replaced
                    self._kill(line.text.content, gen - 1, but=line.text)
                line.text.is_published = True
                if line.grants is not None:
                    self.set_grants(line.source_id, line.grants)
            self._advance(gen, base | {line.text.content: line.text for line in accepted}, always=True)
            for ids, reason in hidden:
                self.hide(ids, reason, gen)
        return {line.source_id: line in accepted for line in lines}

    def _is_publishable(self, line: Pushed, base: State) -> bool:
        text, content = line.text, line.text.content
        if self.ids.get(line.source_id) is not content or text.is_empty:
            return False  # renamed, or removed, since it was read
        own = self.tombstones.get(line.source_id)
        if own is not None and own.reason in HIDING and (own.reason != "forgotten" or text.base_gen < own.gen):
            return False
        if content.fence_gen > text.base_gen:
            return False
        seen = base.get(content)
        return seen is None or seen.is_dead or seen.seq < text.seq

    def _inherited(
        self, lines: Sequence[Pushed], walks: Mapping[str, Collection[str]]
    ) -> tuple[list[tuple[Collection[str], str]], set[str]]:
        """What is hidden with a text of the page that rests on something hidden, unless that comes back in the same page.

        And those of the page of which only older texts rest on it.
        """
        cleared = {each.source_id for each in lines if self._is_forgotten(each.source_id)}
        hidden: dict[str, str] = {}
        inherited: list[tuple[Collection[str], str]] = []
        waiting = list(lines)
        while found := [(line, reason) for line in waiting if (reason := self._reason(line, hidden, cleared))]:
            waiting = [line for line in waiting if all(line is not other for other, _ in found)]
            for line, reason in found:
                cleared.discard(line.source_id)
                ids = walks[line.source_id]
                inherited.append((ids, reason))
                hidden = dict.fromkeys(set(ids) - {each.source_id for each in waiting}, reason) | hidden
        walked = {source_id for ids, _ in inherited for source_id in ids}
        spared = {each.source_id for each in waiting} & walked
        return [([each for each in ids if each not in spared], reason) for ids, reason in inherited], spared

    def _is_forgotten(self, source_id: str) -> bool:
        return source_id in self.tombstones and self.tombstones[source_id].reason == "forgotten"

    def _reason(self, line: Pushed, hidden: Mapping[str, str], cleared: Collection[str]) -> str | None:
        reasons = set()
        for parent in {each for name in line.text.parents for each in (name, source_of(name))} - {line.source_id}:
            own = self.tombstones.get(parent) if parent not in cleared else None
            reasons.add(hidden.get(parent, own.reason if own else None))
        return next((reason for reason in HIDING if reason in reasons), None)

    def delete(self, source_ids: Iterable[str], gen: int) -> None:
        """An ordinary deletion of ids that have a row."""
        state = dict(self._at_head())
        for source_id in source_ids:
            content = self.content(source_id)
            state.pop(content, None)
            self._kill(content, gen)
            self.set_grants(source_id, frozenset())
        self._advance(gen, state, always=False)

    def _kill(self, content: Content, gen: int, but: Text | None = None) -> None:
        content.fence_gen = gen
        for text in content.texts:
            text.is_dead |= text.is_published and text is not but

    def _advance(self, gen: int, state: State, *, always: bool) -> None:
        moves = not self.is_pinned and (always or not self.is_rolled_back)
        self.log.append((gen, self.build, state))
        if moves:
            self.pointer = gen

    def flip(self, build: int, gen: int) -> None:
        """Another build of what readers see becomes the live one."""
        self.log.append((gen, build, {each: text for each, text in self._at_pointer().items() if not text.is_dead}))
        self.build, self.pointer = build, gen

    def set_generation(self, generation: int) -> None:
        """The pointer is moved by hand."""
        self.build = next(build for gen, build, _ in reversed(self.log) if gen <= generation)
        self.pointer = generation

    def pin(self, *, is_pinned: bool) -> None:
        if self.is_pinned and not is_pinned:
            self.pointer = max(self.pointer, self.build_head)
        self.is_pinned = is_pinned

    def set_grants(self, source_id: str, grants: Collection[str], expiring: Collection[str] = ()) -> None:
        self.content(source_id)
        self.grants[source_id], self.expiring[source_id] = set(grants), set(expiring) - set(grants)

    def expire(self, source_id: str) -> None:
        self.expiring[source_id] = set()

    def closure(self, root: str, *, is_shown: bool = False) -> set[str]:
        """The root and every id of which a published text rests on it, over as many steps as it takes.

        Versions that were collected are walked no more, and when that is, is the store's to say: what it finds lies between
        this for the texts that are shown now and this for all that ever were.
        """
        gone = {
            self.ids[each] for each, own in self.tombstones.items() if own.reason != "corrected" and each in self.ids
        }
        shown = [text for text in self._at_pointer().values() if not text.is_dead and text.content not in gone]
        found = {root}
        while True:
            more = {
                source_id
                for source_id, content in self.ids.items()
                for text in (content.texts if not is_shown else [each for each in shown if each.content is content])
                if text.is_published and not found.isdisjoint(map(source_of, text.parents))
            }
            if more <= found:
                return found
            found |= more

    def hide(self, ids: Collection[str], reason: str, gen: int) -> None:
        """Tombstones, and no grants any more unless this is a correction."""
        for source_id in ids:
            own = self.tombstones.get(source_id)
            if own is None or _replaces(reason, own.reason):
                self.tombstones[source_id] = Tombstone(reason, gen)
            if reason != "corrected" and source_id in self.ids:
                self.set_grants(source_id, frozenset())

    def remove(self, ids: Collection[str], gen: int) -> None:
        """The passages of what was read before ``gen`` go, unless they are held."""
        for source_id in ids:
            own = self.tombstones.get(source_id)
            if source_id in self.ids and (own is None or own.reason != "legal_hold"):
                for text in self.ids[source_id].texts:
                    text.is_empty |= text.base_gen < gen

    def move(self, from_id: str, to_id: str, *, has_content: bool) -> None:
        """The content changes its id; grants stay with theirs. Whatever names the old id names the new one."""
        if has_content:
            self.ids[to_id], self.ids[from_id] = self.content(from_id), self.content(to_id)
        for content in self.ids.values():
            for text in content.texts:
                text.parents = list(dict.fromkeys(_renamed(parent, from_id, to_id) for parent in text.parents))

    def content(self, source_id: str) -> Content:
        """What the id holds; made when it is heard of first."""
        return self.ids.setdefault(source_id, Content())


def source_of(parent: str) -> str:
    """The source of a source id or a chunk id."""
    return parent.partition("#")[0]


def _renamed(parent: str, from_id: str, to_id: str) -> str:
    return to_id + parent[len(from_id) :] if source_of(parent) == from_id else parent


def _replaces(new: str, old: str) -> bool:
    """A hold stays, a correction weakens nothing, and a revocation becomes at most a hold."""
    if old == "legal_hold" or (new == "corrected" and old != "corrected"):
        return False
    return old != "revoked" or new in ("revoked", "legal_hold")


def names_of(principal: str, groups: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """All names that a principal goes by."""
    return frozenset({f"user:{principal}", "everyone", *(f"group:{name}" for name in groups.get(principal, ()))})
