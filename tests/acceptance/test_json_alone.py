"""Every public workflow is started by JSON alone, with Temporal's own command line, as the README of the schemas does."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it comes without types

from headwater import Authorization, Retriever, Scope
from tests.acceptance.command_line import CommandLine, files
from tests.acceptance.host_workflows import Host, examples
from workers.schemas import FOLDER, PUBLIC

CORPUS: Final = "me/docs/notes"
SCOPE: Final = Scope.parse(CORPUS)
EXAMPLES: Final = examples((FOLDER / "README.md").read_text("utf-8"))


class Reader:
    """What alice finds in the corpus, as she or in a group."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn

    def __call__(self, *groups: str, principal: str = "alice", embedder: str = "hash:64") -> set[str]:
        who = Authorization(principal_id=principal, tenant_id="me", group_ids=groups)
        with Retriever.connect(self._dsn, embedder=embedder) as retriever:
            found = retriever.retrieve("approvals", scope=SCOPE, authorization=who, top_k=32)
        return {hit.source_id for hit in found.hits}


@pytest.fixture(scope="module")
def sees(services: dict[str, str]) -> Reader:
    return Reader(services["reader_url"])


@pytest.fixture(scope="module")
def answers(up: CommandLine, host: Host, sees: Reader, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """What each example answered, with what was seen right after it."""
    folder = files(tmp_path_factory.mktemp("documents"), {"a.md": "# Approvals of others\n"})
    up.json_here("sync", "folder", folder, "--corpus", CORPUS, "--name", "documents", "--grant", "everyone")
    (folder / "b.md").write_text("# More approvals\n")
    done: dict[str, Any] = {}
    after: dict[str, Callable[[], Any]] = {
        "IngestSources": lambda: (sees(), sees("staff", principal="bob")),
        "SetSourceAccess": lambda: (sees(), sees("staff", principal="bob")),
        "RepointSource": sees,
        "RenameSources": sees,
        "DeleteSources": lambda: sees("staff"),
        "PropagateDeletion": lambda: sees("staff"),
        "SyncCorpus": sees,
        "SyncTick": sees,
        "ReindexCorpus": lambda: sees(embedder="hash:32"),
        "SetGeneration": lambda: sees(embedder="hash:32"),
        "CollectGarbage": lambda: sees(embedder="hash:32"),
    }
    for workflow, command in EXAMPLES.items():
        result = host.typed(command).result
        done[workflow] = (result, after[workflow]())
    yield done


def test_there_is_an_example_of_each() -> None:
    assert set(EXAMPLES) == set(PUBLIC)


def test_answers_are_what_the_schemas_say(answers: Any) -> None:
    for workflow, (result, _) in answers.items():
        schema = json.loads((FOLDER / f"{workflow}.output.json").read_text("utf-8"))
        assert [fault.message for fault in Draft202012Validator(schema).iter_errors(result)] == [], workflow
        assert set(result) == set(schema["properties"]), workflow


def test_pushed_documents_are_found_by_who_may_read_them(answers: Any) -> None:
    result, (alice, staff) = answers["IngestSources"]
    assert [(source["source_id"], source["state"], source["revision"]) for source in result["sources"]] == [
        ("guide", "indexed", 1), ("guide-summary", "indexed", 1), ("notice", "indexed", 1)
    ]  # fmt: skip
    assert alice == {"guide", "guide-summary", "folder:documents/a.md"}
    assert staff == {"guide-summary", "notice", "folder:documents/a.md"}


def test_grants_are_replaced(answers: Any) -> None:
    result, (alice, staff) = answers["SetSourceAccess"]
    assert [source["outcome"] for source in result["sources"]] == ["set", "set", "set"]
    assert "guide" in alice & staff


def test_sources_move_to_other_ids(answers: Any) -> None:
    moved, alice = answers["RepointSource"]
    assert (moved["from"], moved["to"], moved["moved_chunks"], moved["rewritten_edges"]) == ("guide", "handbook", 1, 1)
    assert alice == {"handbook", "guide-summary", "folder:documents/a.md"}
    renamed, alice = answers["RenameSources"]
    assert [(each["from"], each["to"]) for each in renamed["results"]] == [("guide-summary", "handbook-summary")]
    assert renamed["failures"] == []
    assert alice == {"handbook", "handbook-summary", "folder:documents/a.md"}


def test_deleted_is_gone_and_so_is_what_was_derived_from_it(answers: Any) -> None:
    deleted, staff = answers["DeleteSources"]
    assert deleted["sources"] == [{"source_id": "notice", "deleted": True}]
    assert staff == {"handbook", "handbook-summary", "folder:documents/a.md"}
    hidden, staff = answers["PropagateDeletion"]
    assert set(hidden["ids"]) >= {"handbook", "handbook-summary"} and hidden["tombstoned"] == len(hidden["ids"])
    assert hidden["layers"]["rag"] > 0
    assert staff == {"folder:documents/a.md"}


def test_a_connector_is_followed_and_the_corpus_is_shown_in_another_space(answers: Any) -> None:
    synced, alice = answers["SyncCorpus"]
    assert (synced["upserted"], synced["skipped"]) == (1, 1)
    assert alice == {"folder:documents/a.md", "folder:documents/b.md"}
    reindexed, alice = answers["ReindexCorpus"]
    assert (reindexed["sources"], reindexed["failed"]) == (2, 0)
    assert alice == {"folder:documents/a.md", "folder:documents/b.md"}
    followed, alice = answers["SetGeneration"]
    assert not followed["pinned"] and followed["build"] == reindexed["build"]
    assert answers["CollectGarbage"][1] == alice == {"folder:documents/a.md", "folder:documents/b.md"}


def test_the_same_request_is_answered_alike_under_any_workflow_id(answers: Any, host: Host, sees: Reader) -> None:
    command = EXAMPLES["IngestSources"]
    again = host.typed(command.replace("ingest:me/docs/notes:first-documents", "anything")).result
    assert again == answers["IngestSources"][0]
    assert "guide" not in sees(embedder="hash:32")

    kind, words = host.typed(command.replace("two days", "three days")).failure
    assert kind == "InvalidInput" and "first-documents" in words


def test_a_field_that_is_missing_fails_at_once_and_is_named(host: Host) -> None:
    def without_the_last_field(workflow: str) -> tuple[str, tuple[str, str]]:
        required = json.loads((FOLDER / f"{workflow}.input.json").read_text("utf-8"))["required"]
        values = {"scope": SCOPE.model_dump(), "request_id": "r1", "source_id": "a", "from": "a", "to": "b"}
        given = {name: values[name] for name in required[:-1]}
        return required[-1], host.execute(workflow, f"incomplete-{workflow}", given).failure

    with ThreadPoolExecutor(4) as pool:
        for field, (kind, words) in pool.map(without_the_last_field, PUBLIC):
            assert kind == "InvalidInput"
            assert words.startswith(f"{field}: Field required"), words


@pytest.mark.parametrize(
    ("workflow", "given", "named"),
    [
        ("SetGeneration", {"generation": "7"}, "generation"),
        ("SetSourceAccess", {"grants": [{"source_id": "a", "everyone": True, "access_version": 1, "expires_at": "tomorrow"}]}, "grants.0.expires_at"),
    ],
)  # fmt: skip
def test_a_malformed_field_is_named_by_its_place(host: Host, workflow: str, given: Any, named: str) -> None:
    kind, words = host.execute(
        workflow, f"malformed-{workflow}", {"scope": SCOPE.model_dump(), "request_id": "r1", **given}
    ).failure
    assert kind == "InvalidInput" and words.startswith(named)


def test_another_tenants_authorization_is_refused(host: Host) -> None:
    given = {
        "scope": SCOPE.model_dump(), "request_id": "r1", "source_id": "a",
        "authorization": {"principal_id": "alice", "tenant_id": "others"},
    }  # fmt: skip
    assert host.execute("PropagateDeletion", "foreign", given).failure[0] == "ScopeError"
