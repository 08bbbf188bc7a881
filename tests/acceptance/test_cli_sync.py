"""`headwater sync folder` and what its result can be asked: on real services, where `headwater up` runs."""

import itertools
import shutil
from pathlib import Path

import pytest

from tests.acceptance.command_line import CommandLine, files

DOCUMENTS = {
    "approvals.md": "# Approvals\n\nEvery purchase above 500 needs two signatures.\n",
    "hr/holidays.txt": "Everybody has thirty days of holidays.\n",
    "hr/salaries.md": "# Salaries\n\nSalaries are paid on the last day.\n",
    "empty.txt": "",
    "broken.pdf": "%PDF-1.7 and nothing that follows\n",
    ".hidden.md": "# Hidden\n",
}


@pytest.fixture
def headwater(up: CommandLine) -> CommandLine:
    return up


@pytest.fixture
def corpus() -> str:
    """A corpus of this test's own."""
    return f"t1/sync/handbook-{next(_numbers)}"


_numbers = itertools.count(1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return files(tmp_path / "docs", DOCUMENTS)


def _ids(result: dict[str, object]) -> list[str]:
    hits = result["hits"]
    assert isinstance(hits, list)
    return [hit["source_id"] for hit in hits]


def test_a_folder_is_indexed_then_followed(headwater: CommandLine, corpus: str, folder: Path) -> None:
    sync = ("sync", "folder", folder, "--corpus", corpus)
    first = headwater.json(*sync, "--grant", "everyone")
    assert set(first) == {
        *("corpus", "connector", "pages", "upserted", "deleted", "skipped", "regranted", "withheld", "failed"),
        *("embedded_chunks", "reused_chunks", "exhausted", "generation", "failures", "withheld_reasons"),
    }
    assert (first["upserted"], first["failed"], first["skipped"], first["deleted"]) == (4, 1, 0, 0)
    assert first["embedded_chunks"] == 3
    (failure,) = first["failures"]
    assert failure["source_id"].endswith("/broken.pdf")
    assert failure["state"] == "failed"
    assert failure["reason"]

    again = headwater.json_here(*sync)
    assert (again["upserted"], again["skipped"], again["failed"], again["embedded_chunks"]) == (0, 4, 1, 0)

    (folder / "approvals.md").write_text("# Approvals\n\nEvery purchase above 900 needs three signatures.\n")
    (folder / "hr" / "holidays.txt").unlink()
    (folder / "hr" / "salaries.md").rename(folder / "hr" / "pay.md")
    changed = headwater.json_here(*sync)
    assert (changed["upserted"], changed["deleted"], changed["embedded_chunks"]) == (2, 2, 1)
    assert changed["reused_chunks"] == 1

    ended = headwater.run(*sync, "--strict", "--json")
    assert ended.status == 1
    assert ended.json["failed"] == 1


def test_two_people_get_what_each_may_read(headwater: CommandLine, corpus: str, folder: Path, tmp_path: Path) -> None:
    rule = tmp_path / "access.yaml"
    rule.write_text('- {path: "hr/**", grant: ["group:hr"]}\n- {path: "**", grant: ["everyone"]}\n')
    headwater.json_here("sync", "folder", folder, "--corpus", corpus, "--access", rule)
    search = ("search", "When are salaries paid?", "--corpus", corpus, "--top-k", "9")
    of_alice = headwater.json_here(*search, "--as", "alice")
    of_bob = headwater.json_here(*search, "--as", "bob", "--group", "hr")
    assert not any("/hr/" in source_id for source_id in _ids(of_alice))
    assert _ids(of_bob)[0].endswith("/hr/salaries.md")
    assert of_bob["citations"][0]["provenance"]["provider"] == "folder"
    assert of_bob["hits"][0]["trust"] == {"untrusted": True, "inert": True, "injection_capable": True}

    shown = headwater.run_here(*search, "--as", "bob", "--group", "hr")
    assert shown.status == 0
    assert "Salaries are paid on the last day." in shown.out
    assert f"{_ids(of_bob)[0]}#0001" in shown.out


def test_without_a_grant_nobody_reads_it_until_one_is_given(headwater: CommandLine, corpus: str, folder: Path) -> None:
    sync = ("sync", "folder", folder, "--corpus", corpus)
    search = ("search", "holidays", "--corpus", corpus, "--as", "alice")
    first = headwater.run_here(*sync, "--json")
    assert first.status == 0
    assert "Nobody may read these documents" in first.err
    assert headwater.json_here(*search)["hits"] == []

    granted = headwater.json_here(*sync, "--grant", "user:alice")
    assert granted["embedded_chunks"] == 0
    assert headwater.json_here(*search)["hits"] != []
    assert headwater.json_here(*search[:-1], "bob")["hits"] == []


def test_the_operator_sees_states_and_one_source(headwater: CommandLine, corpus: str, folder: Path) -> None:
    synced = headwater.json_here(
        "sync", "folder", folder, "--corpus", corpus, "--grant", "user:alice", "--grant", "group:g"
    )
    (seen,) = [each for each in headwater.json_here("status")["corpora"] if each["corpus"] == corpus]
    assert set(seen) == {
        *("corpus", "generation", "live_build", "pinned", "space", "language"),
        *("sources", "chunks", "by_state", "connectors"),
    }
    assert seen["generation"] == synced["generation"]
    assert seen["by_state"] == {"indexed": 3, "empty": 1, "failed": 1}
    assert seen["connectors"][0]["name"] == synced["connector"]
    assert seen["connectors"][0]["error"] is None

    page = headwater.json_here("status", "--corpus", corpus, "--limit", "3")
    assert set(page["sources"][0]) == {
        *("source_id", "state", "freshness", "reason", "chunks", "bytes", "revision", "updated_at")
    }
    rest = headwater.json_here("status", "--corpus", corpus, "--limit", "3", "--cursor", page["next_cursor"])
    found = [source["source_id"] for source in (*page["sources"], *rest["sources"])]
    assert len(set(found)) == 5
    assert rest["next_cursor"] is None
    failed = headwater.json_here("status", "--corpus", corpus, "--state", "failed")["sources"]
    assert [source["source_id"] for source in failed] == [f"folder:{synced['connector']}/broken.pdf"]

    source_id = f"folder:{synced['connector']}/approvals.md"
    source = headwater.json_here("source", "show", source_id, "--corpus", corpus)
    assert source["state"] == "indexed"
    assert source["grants"]["principal_ids"] == ["alice"]
    assert source["grants"]["group_ids"] == ["g"]
    assert source["offsets"][0]["chunk_id"] == f"{source_id}#0001"
    assert "signatures" not in headwater.run_here("source", "show", source_id, "--corpus", corpus).out
    meant = headwater.run_here("source", "show", "./approvals.md", "--corpus", corpus)
    assert (meant.status, meant.out) == (1, "")
    assert f"Did you mean {source_id}?" in meant.err
    assert headwater.run_here("source", "show", "nothing.md", "--corpus", corpus).status == 1


def test_an_access_file_never_becomes_a_document(headwater: CommandLine, corpus: str, tmp_path: Path) -> None:
    rules = '- path: "**"\n  grant: ["group:staff"]\n'
    folder = files(tmp_path / "docs", {"a.md": "# Alpha\n\nThe first letter.\n", "access.yml": rules})
    sync = ("sync", "folder", folder, "--corpus", corpus)
    assert headwater.json_here(*sync, "--access", folder / "access.yml")["upserted"] == 1
    assert headwater.json_here(*sync, "--grant", "everyone")["upserted"] == 0
    (source,) = headwater.json_here("status", "--corpus", corpus)["sources"]
    assert source["source_id"].endswith("/a.md")


def test_a_moved_folder_goes_on_under_its_name(
    headwater: CommandLine, corpus: str, folder: Path, tmp_path: Path
) -> None:
    first = headwater.json_here(
        "sync", "folder", folder, "--corpus", corpus, "--grant", "everyone", "--name", "handbook"
    )
    assert first["connector"] == "handbook"
    copy = tmp_path / "elsewhere" / "docs"
    shutil.copytree(folder, copy)
    refused = headwater.run_here("sync", "folder", copy, "--corpus", corpus, "--name", "handbook")
    assert refused.status == 2
    assert "still there" in refused.err

    shutil.rmtree(folder)
    gone = headwater.run_here("sync", "folder", folder, "--corpus", corpus)
    assert gone.status == 2
    assert "does not exist" in gone.err
    moved = headwater.json_here("sync", "folder", copy, "--corpus", corpus, "--name", "handbook")
    assert (moved["connector"], moved["deleted"], moved["embedded_chunks"]) == ("handbook", 0, 0)
    assert headwater.json_here("status", "--corpus", corpus)["corpora"][0]["sources"] == 5


def test_two_folders_of_one_corpus_stay_two(headwater: CommandLine, corpus: str, tmp_path: Path) -> None:
    one = files(tmp_path / "one" / "docs", {"README.md": "# One\n\nThe first readme.\n"})
    two = files(tmp_path / "two" / "docs", {"README.md": "# Two\n\nThe second readme.\n"})
    names = {
        headwater.json_here("sync", "folder", folder, "--corpus", corpus, "--grant", "everyone")["connector"]
        for folder in (one, two)
    }
    assert len(names) == 2
    assert headwater.json_here("sync", "folder", one, "--corpus", corpus)["deleted"] == 0
    assert headwater.json_here("status", "--corpus", corpus)["corpora"][0]["sources"] == 2


def test_another_embedder_is_explained_and_the_corpus_goes_on_with_its_own(
    headwater: CommandLine, corpus: str, folder: Path
) -> None:
    sync = ("sync", "folder", folder, "--corpus", corpus)
    headwater.json_here(*sync, "--grant", "everyone")
    other = headwater.with_variables(HEADWATER_EMBEDDER="hash:32")
    ended = other.run_here(*sync, "--json")
    assert ended.status == 0
    assert ended.json["embedded_chunks"] == 0
    assert f"Corpus {corpus} goes on with its own embedder hash:64" in ended.err
    assert f"headwater reindex --corpus {corpus}" in ended.err
    assert other.json_here("search", "holidays", "--corpus", corpus, "--as", "alice")["hits"] != []
    other.json_here("sync", "folder", folder, "--corpus", f"{corpus}-new", "--grant", "everyone")
    spaces = {each["corpus"]: each["space"]["embedder"] for each in other.json_here("status")["corpora"]}
    assert (spaces[corpus], spaces[f"{corpus}-new"]) == ("hash:64", "hash:32")


def test_a_terminal_gets_a_bar_that_counts(headwater: CommandLine, corpus: str, folder: Path) -> None:
    ended = headwater.on_terminal("sync", "folder", str(folder), "--corpus", corpus, "--grant", "everyone")
    assert ended.status == 0
    assert "of 5 documents" in ended.out
    assert "of 3 chunks" in ended.out
    assert "━" in ended.out
    assert "4 published" in ended.out
    assert "failed: folder:" in ended.out


def test_an_unknown_corpus_answers_empty(headwater: CommandLine) -> None:
    ended = headwater.run_here("search", "anything", "--corpus", "t1/docs/none", "--as", "alice", "--json")
    assert ended.status == 0
    assert ended.json["hits"] == []
    assert ended.json["query"] == "anything"
    assert ended.json["generation"] is None
    assert "does not exist" in ended.err
    missing = headwater.run_here("source", "show", "folder:x/y", "--corpus", "t1/docs/none", "--json")
    assert (missing.status, missing.out) == (1, "")
    assert "has no document" in missing.err
