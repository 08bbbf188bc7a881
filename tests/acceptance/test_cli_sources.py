"""What an operator does with one document: grant it, revoke it, delete it, delete what was derived from it."""

from typing import Final

import pytest

from headwater import Authorization, Retriever, Scope
from tests.acceptance.command_line import CommandLine, files
from tests.acceptance.host_workflows import Host

CORPUS: Final = "me/docs/operated"
SCOPE: Final = Scope.parse(CORPUS)
GUIDE: Final = "folder:shelf/guide.md"
PAY: Final = "folder:shelf/pay.md"


@pytest.fixture(scope="module")
def headwater(up: CommandLine, tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    folder = files(
        tmp_path_factory.mktemp("shelf"), {"guide.md": "# Guide\n\nApprovals.\n", "pay.md": "# Pay\n\nBands.\n"}
    )
    up.json_here("sync", "folder", folder, "--corpus", CORPUS, "--name", "shelf", "--grant", "user:alice")
    return up


def seen(services: dict[str, str], principal: str, *groups: str, embedder: str = "hash:64") -> set[str]:
    who = Authorization(principal_id=principal, tenant_id="me", group_ids=groups)
    with Retriever.connect(services["reader_url"], embedder=embedder) as retriever:
        return {hit.source_id for hit in retriever.retrieve("guide", scope=SCOPE, authorization=who, top_k=32).hits}


def test_grants_are_replaced_and_taken_away(headwater: CommandLine, services: dict[str, str]) -> None:
    assert seen(services, "alice") == {GUIDE, PAY}
    granted = headwater.run("source", "grant", GUIDE, "--grant", "group:staff", "--corpus", CORPUS)
    assert granted.status == 0, granted.err
    assert granted.out == f"{GUIDE} may be read by group:staff and nobody else (access version 2).\n"
    assert (seen(services, "alice"), seen(services, "bob", "staff")) == ({PAY}, {GUIDE})

    revoked = headwater.json_here("source", "revoke", GUIDE, "--corpus", CORPUS)
    assert (revoked["outcome"], revoked["access_version"]) == ("set", 3)
    assert seen(services, "bob", "staff") == set()
    assert headwater.json_here("source", "show", GUIDE, "--corpus", CORPUS)["chunks"] == 1


def test_an_id_without_a_document_is_granted_with_a_warning_and_never_revoked(headwater: CommandLine) -> None:
    ended = headwater.run_here("source", "grant", "pay.md", "--grant", "everyone", "--corpus", CORPUS)
    assert ended.status == 0
    assert f"has no document pay.md yet: the grants wait for it. Did you mean {PAY}?" in ended.err
    ended = headwater.run_here("source", "revoke", "unheard-of", "--corpus", CORPUS)
    assert (ended.status, ended.out) == (1, "")
    assert "has no document unheard-of" in ended.err


def test_a_document_is_deleted_once(headwater: CommandLine, services: dict[str, str]) -> None:
    deleted = headwater.json_here("source", "delete", PAY, "--corpus", CORPUS)
    assert deleted["sources"] == [{"source_id": PAY, "deleted": True}]
    assert PAY not in seen(services, "alice")
    ended = headwater.run_here("source", "delete", PAY, "--corpus", CORPUS)
    assert (ended.status, ended.out) == (1, "")
    assert f"has no document {PAY}" in ended.err


def test_what_was_derived_is_deleted_too_by_who_may(
    headwater: CommandLine, host: Host, services: dict[str, str]
) -> None:
    everyone = {"everyone": True, "access_version": 1}
    sources = [
        {"source_id": "plan", "text": "The plan.", "grants": everyone},
        {"source_id": "plan-summary", "text": "A plan.", "lineage": ["plan"], "grants": everyone},
    ]
    pushed = {"scope": SCOPE.model_dump(), "request_id": "plans", "sources": sources}
    assert len(host.execute("IngestSources", "push-plans", pushed).result["sources"]) == 2
    headwater.json_here("source", "revoke", "plan", "--corpus", CORPUS)

    refused = headwater.run_here("source", "propagate", "plan", "--as", "bob", "--corpus", CORPUS)
    assert (refused.status, refused.out) == (1, "")
    assert "bob has no grant for plan" in refused.err
    assert seen(services, "bob") >= {"plan-summary"}

    done = headwater.run_here(
        "source", "propagate", "plan", "--as", "janitor", "--reason", "revoked", "--corpus", CORPUS
    )
    assert done.status == 0, done.err
    assert "hidden (revoked)" in done.out and "\n  plan-summary\n" in done.out
    assert not seen(services, "bob") & {"plan", "plan-summary"}


def test_a_document_moves_to_an_id_that_was_granted_before(
    headwater: CommandLine, host: Host, services: dict[str, str]
) -> None:
    draft = {"source_id": "draft", "text": "A draft.", "grants": {"principal_ids": ["dora"], "access_version": 1}}
    pushed = {"scope": SCOPE.model_dump(), "request_id": "draft", "sources": [draft]}
    assert host.execute("IngestSources", "push-draft", pushed).result["sources"][0]["state"] == "indexed"

    rename = ("rename", "draft", "final", "--as", "dora", "--corpus", CORPUS)
    refused = headwater.run_here(*rename)
    assert (refused.status, refused.out) == (1, "") and "final" in refused.err
    assert seen(services, "dora") == {"draft"}

    headwater.json_here("source", "grant", "final", "--grant", "user:dora", "--corpus", CORPUS)
    moved = headwater.run_here(*rename)
    assert moved.status == 0, moved.err
    assert moved.out == "draft is now final: 1 chunk moved, 0 lineage records rewritten.\n"
    assert seen(services, "dora") == {"final"}

    again = headwater.run_here("rename", "folder:shelf/guide.md", "x", "--as", "janitor", "--corpus", CORPUS)
    assert again.status == 2 and "renames.0" in again.err


def test_a_corpus_is_never_made_by_a_misspelling(headwater: CommandLine) -> None:
    for command in (
        ("source", "grant", "a", "--grant", "everyone"),
        ("source", "delete", "a"),
        ("source", "propagate", "a", "--as", "janitor"),
        ("reindex",),
    ):
        ended = headwater.run_here(*command, "--corpus", "me/docs/operatde")
        assert (ended.status, ended.out) == (1, "")
        assert "Corpus me/docs/operatde does not exist" in ended.err
    assert "operatde" not in str(headwater.json_here("status"))


def test_wrong_arguments_are_wrong_usage(headwater: CommandLine) -> None:
    for command, words in (
        (("source", "grant", "a", "--grant", "alice"), "must be user:NAME, group:NAME or everyone"),
        (("source", "delete", "no space"), "headwater: ID 'no space' must be"),
        (("reindex", "--chunker", "words"), "--chunker: 'words' is not a chunker"),
        (("reindex", "--embedder", "unheard-of:1"), "--embedder unheard-of:1 cannot be used"),
    ):
        ended = headwater.run_here(*command, "--corpus", CORPUS)
        assert (ended.status, ended.out) == (2, ""), ended.err
        assert words in ended.err


def test_a_corpus_is_shown_in_another_space(headwater: CommandLine, host: Host, services: dict[str, str]) -> None:
    note = {"source_id": "note", "text": "A note.", "grants": {"principal_ids": ["carol"], "access_version": 1}}
    pushed = {"scope": SCOPE.model_dump(), "request_id": "note", "sources": [note]}
    assert host.execute("IngestSources", "push-note", pushed).result["sources"][0]["state"] == "indexed"
    before = headwater.json_here("status", "--corpus", CORPUS)["corpora"][0]
    ended = headwater.run("reindex", "--embedder", "hash:32", "--corpus", CORPUS)
    assert ended.status == 0, ended.err
    after = headwater.json_here("status", "--corpus", CORPUS)["corpora"][0]
    assert after["live_build"] != before["live_build"] and after["space"]["embedder"] == "hash:32"
    assert f"build {after['live_build']} since generation {after['generation']}" in ended.out
    assert seen(services, "carol", embedder="hash:32") == {"note"}
