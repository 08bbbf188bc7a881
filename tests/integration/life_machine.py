"""Random lives of a few sources, carried out by the store and told to the model; after each step both must show the same."""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final, LiteralString

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from activities.store import Store
from activities.store.garbage.garbage import Keep, collect
from activities.store.generations import listing, pin, set_generation
from activities.store.lexicon.counting import fold
from activities.store.pages.publish import publish_page
from activities.store.scopes import live_build
from activities.store.sources.access import set_access
from activities.store.sources.deletion import delete_once
from activities.store.sources.pair import MoveRefused
from activities.store.sources.removal import remove_rag
from activities.store.sources.tombstones import closure, propagate, propagated
from headwater.contracts import ExpiringGrant, Grants, SourceGrants
from headwater.retriever import Retriever
from tests.integration.asked import new_request, who
from tests.integration.builds_by_hand import flip, start_build
from tests.integration.counts import fold_all, miscounted, unlevel
from tests.integration.life_model import HIDING, Model, Pushed, Shown, Text, names_of
from tests.integration.moving import SERVICE, SERVICES, move_all
from tests.integration.seen import of_schema, outcomes
from tests.integration.staging_factory import Corpus, Document, make_corpus, stage

READERS: Final = {"alice": ("eng",), "bob": (), "stranger": ()}
IDS: Final = ("a", "b", "c", "d", "e")
SERVICE_PRINCIPALS: Final = {*SERVICES}

ids = st.sampled_from(IDS)
names = st.sampled_from(
    [frozenset({"everyone"}), frozenset({"user:alice"}), frozenset({"group:eng", "user:bob"}), frozenset()]
)
parents = st.lists(st.sampled_from([*IDS, "a#0001", "b#0002"]), max_size=2, unique=True)

_numbers = itertools.count(1)


class Life(RuleBasedStateMachine):
    """One corpus of five ids, pushed by hosts."""

    def __init__(self, store: Store, retriever: Retriever) -> None:
        super().__init__()
        self.store, self.retriever = store, retriever
        self.corpus: Corpus = make_corpus(store, f"acme/lives/corpus-{next(_numbers)}")
        self.model = Model(build=self.corpus.build.build_id)
        self.clock, self.counting = itertools.count(1), itertools.count()
        self.staged: list[tuple[int, list[Pushed]]] = []  # pages on their way
        self.hidden: list[int] = []  # requests that hid something and removed nothing yet

    @initialize(lineage=st.lists(parents, min_size=len(IDS), max_size=len(IDS)))
    def begin(self, lineage: list[list[str]]) -> None:
        """A life begins with something to lose."""
        for source_id, rests_on in zip(IDS, lineage, strict=True):
            self._publish(*self._stage({source_id: (rests_on, frozenset({"everyone"}))}))

    @rule(source_id=ids, lineage=parents, grants=st.none() | names)
    def push(self, source_id: str, lineage: list[str], grants: frozenset[str] | None) -> None:
        self._publish(*self._stage({source_id: (lineage, grants)}))

    @rule(lines=st.dictionaries(ids, st.tuples(parents, st.none() | names), min_size=2, max_size=3))
    def push_page(self, lines: Mapping[str, tuple[list[str], frozenset[str] | None]]) -> None:
        self._publish(*self._stage(lines))

    @rule(source_id=ids, lineage=parents, grants=st.none() | names)
    def read(self, source_id: str, lineage: list[str], grants: frozenset[str] | None) -> None:
        """A page is staged and waits."""
        self.staged.append(self._stage({source_id: (lineage, grants)}))

    @precondition(lambda self: self.staged)
    @rule(data=st.data())
    def publish_late(self, data: st.DataObject) -> None:
        """What waited is published, whatever came between."""
        place = data.draw(st.integers(0, len(self.staged) - 1))
        self._publish(*self.staged.pop(place))

    @rule(source_ids=st.lists(ids, min_size=1, max_size=2, unique=True))
    def delete(self, source_ids: list[str]) -> None:
        known = [
            each for each in source_ids if self._ask("SELECT 1 FROM {schema}.source WHERE " + _SOURCE, source_id=each)
        ]
        request_no, (head, *_) = new_request(self.store, self.corpus), self._scope()
        result = delete_once(self.store, self.corpus.scope, source_ids, request_no=request_no, actor=None)
        if result.generation > head:
            self.model.delete(known, result.generation)
        else:  # nothing was there to be deleted, nor on its way
            assert not any(each.deleted for each in result.sources)

    @rule(source_id=ids, grants=names, expiring=names)
    def grant(self, source_id: str, grants: frozenset[str], expiring: frozenset[str]) -> None:
        expiring -= {"everyone"}
        self._grant(source_id, self._version(source_id) + 1, grants, expiring)
        self.model.set_grants(source_id, grants, expiring)

    @rule(source_id=ids)
    def revoke(self, source_id: str) -> None:
        self._grant(source_id, self._version(source_id) + 1, frozenset(), frozenset())
        self.model.set_grants(source_id, frozenset())

    @precondition(lambda self: self.model.grants)
    @rule(data=st.data(), grants=names)
    def grant_late(self, data: st.DataObject, grants: frozenset[str]) -> None:
        """A late writer changes nothing."""
        source_id = data.draw(st.sampled_from(sorted(self.model.grants)))
        if (version := self._version(source_id)) > 1:
            assert self._grant(source_id, version - 1, grants, frozenset()) == "conflict"

    @rule(source_id=ids)
    def expire(self, source_id: str) -> None:
        """Time passes."""
        self._ask(
            "UPDATE {schema}.expiring_grant SET expires_at = statement_timestamp() WHERE source_pk IN "
            "(SELECT source_pk FROM {schema}.source WHERE " + _SOURCE + ")",
            source_id=source_id,
        )
        self.model.expire(source_id)

    @rule(root=ids, reason=st.sampled_from([*HIDING, "corrected", "forgotten"]), removes=st.booleans())
    def hide(self, root: str, reason: Any, removes: bool) -> None:
        request_no = new_request(self.store, self.corpus)
        done = propagate(
            self.store, self.corpus.scope, root, authorization=SERVICE, reason=reason, request_no=request_no, actor=None,
            service_principals=SERVICE_PRINCIPALS,
        )  # fmt: skip
        assert done.ids[0] == root and self._is_a_walk(root, set(done.ids))
        self.model.hide(done.ids, reason, done.gen)
        self.hidden.append(request_no)
        if removes:
            self._remove(request_no)

    @precondition(lambda self: self.hidden)
    @rule()
    def remove_late(self) -> None:
        """The removal comes after something else."""
        self._remove(self.hidden[0])

    @rule(from_id=ids, to_id=ids)
    def move(self, from_id: str, to_id: str) -> None:
        if from_id == to_id:
            return
        try:
            pages = move_all(self.store, self.corpus, from_id, to_id)
        except MoveRefused:
            return
        moved, edges = sum(page.moved_sources for page in pages), sum(page.rewritten_edges for page in pages)
        assert not moved or not self.model.tombstones.keys() & {from_id, to_id}
        if moved or edges:
            self.model.move(from_id, to_id, has_content=moved > 0)

    @precondition(lambda self: self.model.log)
    @rule(data=st.data())
    def roll_back(self, data: st.DataObject) -> None:
        generation = data.draw(st.sampled_from(self._retained()))
        set_generation(self.store, self.corpus.scope, generation)
        build = live_build(self.store, self.corpus.scope)
        assert build is not None
        self.corpus = replace(self.corpus, build=build)
        self.model.set_generation(generation)

    @rule(is_pinned=st.booleans())
    def pin(self, is_pinned: bool) -> None:
        pin(self.store, self.corpus.scope, pinned=is_pinned)
        self.model.pin(is_pinned=is_pinned)

    @precondition(lambda self: not self.model.is_pinned and self.model.log)
    @rule()
    def flip(self) -> None:
        self.corpus = flip(self.store, self.corpus, start_build(self.store, self.corpus))
        self.model.flip(self.corpus.build.build_id, self._scope()[0])

    @rule(generations=st.integers(0, 5))
    def collect(self, generations: int) -> None:
        for _ in collect(self.store, self.corpus.scope, Keep(generations=generations, seconds=0)):
            pass

    @invariant()
    def each_term_counts_the_passages_that_are_counted(self) -> None:
        """Counts follow now and then, level or broken off."""
        for _ in islice(fold(self.store, self.corpus.build.build_id), next(self.counting) % 4):
            pass
        assert miscounted(self.store) == []

    def teardown(self) -> None:
        fold_all(self.store, self.corpus.build.build_id)
        assert unlevel(self.store, self.corpus.build.build_id) == miscounted(self.store) == []

    @invariant()
    def readers_see_what_the_model_shows(self) -> None:
        _, shown, pinned = self._scope()
        assert (shown, pinned) == (self.model.pointer, self.model.is_pinned)
        for reader in READERS:
            seen, expected = self._seen(reader), self.model.visible(names_of(reader, READERS))
            assert seen == expected, (reader, seen, expected, self.model.tombstones)

    @precondition(lambda self: self.model.log)
    @invariant()
    def an_older_generation_is_read_under_todays_rules(self) -> None:
        retained = self._retained()
        generation = retained[next(self.clock) % len(retained)]
        seen = self._seen("alice", generation=generation)
        expected = self.model.visible(names_of("alice", READERS), generation)
        assert seen == expected, (generation, seen, expected, self.model.tombstones)

    def _stage(self, lines: Mapping[str, tuple[list[str], frozenset[str] | None]]) -> tuple[int, list[Pushed]]:
        base_gen = self._scope()[0]
        pushed, documents = [], []
        for source_id, (lineage, grants) in lines.items():
            seq = next(self.clock)
            passages = tuple(f"passage {number} of text {seq}" for number in range(1 + seq % 2))
            content = self.model.content(source_id)
            text = Text(content, passages, list(lineage), base_gen, seq)
            content.texts.append(text)
            pushed.append(Pushed(source_id, text, grants))
            given = None if grants is None else _grants(self._version(source_id) + 1, grants)
            documents.append(Document(source_id, passages, lineage=lineage, grants=given))
        return stage(self.store, self.corpus, *documents, is_hosts=True), pushed

    def _publish(self, page_id: int, lines: list[Pushed]) -> None:
        head = self._scope()[0]
        # Grants that were read with a text, and have changed since, would be a conflict: here they come with the page.
        for line in lines:
            if line.grants is not None:
                self._renew(page_id, line)
        walks = {line.source_id: self._walk(line.source_id) for line in lines}
        if publish_page(self.store, page_id).is_stale_build:
            return  # nothing is written: staging it for the live build is the workflow's
        published = [outcome == "published" for outcome in outcomes(self.store, page_id)]
        expected = self.model.publish(lines, head, walks)
        assert dict(zip(expected, published, strict=True)) == expected, outcomes(self.store, page_id)

    def _walk(self, root: str) -> set[str]:
        with self.store.connection() as connection:
            found = set(closure(connection, self.store.schema, self.corpus.build.scope_id, root))
        assert self._is_a_walk(root, found)
        return found

    def _is_a_walk(self, root: str, found: set[str]) -> bool:
        return self.model.closure(root, is_shown=True) <= found <= self.model.closure(root)

    def _renew(self, page_id: int, line: Pushed) -> None:
        self._ask(
            "UPDATE {schema}.page_item SET grants = jsonb_set(grants, ARRAY['access_version'], to_jsonb(%(version)s::bigint)) "
            "WHERE page_id = %(page_id)s AND source_id = %(source_id)s",
            page_id=page_id,
            source_id=line.source_id,
            version=self._version(line.source_id) + 1,
        )

    def _grant(self, source_id: str, version: int, grants: frozenset[str], expiring: frozenset[str]) -> str:
        wanted = SourceGrants(source_id=source_id, **_grants(version, grants, expiring).model_dump())
        request_no = new_request(self.store, self.corpus)
        (outcome,) = set_access(self.store, self.corpus.scope, [wanted], request_no=request_no, actor=None).sources
        return outcome.outcome

    def _remove(self, request_no: int) -> None:
        self.hidden.remove(request_no)
        hidden = propagated(self.store, request_no)
        remove_rag(self.store, self.corpus.scope, request_no=request_no)
        if hidden.reason != "legal_hold":
            self.model.remove(hidden.ids[1:] if hidden.reason == "corrected" else hidden.ids, hidden.gen)

    def _seen(self, reader: str, **arguments: Any) -> Shown:
        answer = self.retriever.retrieve(
            "passage", scope=self.corpus.scope, authorization=who(reader, *READERS[reader]), top_k=32, candidates=128,
            **arguments,
        )  # fmt: skip
        found: dict[str, list[str]] = {}
        for hit in sorted(answer.hits, key=lambda hit: hit.chunk_id):
            found.setdefault(hit.source_id, []).append(hit.text)
        return {source_id: tuple(texts) for source_id, texts in found.items()}

    def _retained(self) -> list[int]:
        return [each["generation"] for each in listing(self.store, self.corpus.scope)["generations"]]

    def _version(self, source_id: str) -> int:
        rows = self._ask("SELECT access_version FROM {schema}.source WHERE " + _SOURCE, source_id=source_id)
        return int(rows[0][0]) if rows else 0

    def _scope(self) -> tuple[int, int, bool]:
        """The last generation taken, the one that is shown, and whether it is pinned."""
        ((head_gen, live_gen, pinned),) = self._ask(
            "SELECT head_gen, live_gen, pinned FROM {schema}.scope WHERE scope_id = %(scope_id)s"
        )
        return head_gen, live_gen, pinned

    def _ask(self, text: LiteralString, **values: object) -> list[tuple[Any, ...]]:
        with self.store.connection() as connection:
            bound = {"scope_id": self.corpus.build.scope_id, **values}
            cursor = connection.execute(of_schema(self.store, text), bound)
            return cursor.fetchall() if cursor.description else []


_SOURCE: LiteralString = "scope_id = %(scope_id)s AND source_id = %(source_id)s"


def _grants(version: int, grants: frozenset[str], expiring: frozenset[str] = frozenset()) -> Grants:
    def bare(kind: str, named: frozenset[str]) -> tuple[str, ...]:
        return tuple(sorted(name.partition(":")[2] for name in named if name.startswith(kind)))

    later = datetime.now(UTC) + timedelta(days=1)
    ends = [ExpiringGrant(principal_id=name, expires_at=later) for name in bare("user:", expiring)]
    ends += [ExpiringGrant(group_id=name, expires_at=later) for name in bare("group:", expiring)]
    return Grants(
        principal_ids=bare("user:", grants),
        group_ids=bare("group:", grants),
        everyone="everyone" in grants,
        access_version=version,
        expiring=tuple(ends),
    )
