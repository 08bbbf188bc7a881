"""The folder connector keeps the contract of connectors, and the contract test notices connectors that do not."""

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from activities.connectors import LocalFolder, make_connector
from activities.connectors.local_folder import folder_config
from headwater.connectors import Change, ChangePage, Connector, Description, FetchedDocument
from headwater.errors import ValidationError
from headwater.testing.connector_suite import check_connector


class FolderCorpus:
    """A folder as the contract test wants it; ``connect`` may spoil the connector."""

    def __init__(self, root: Path, connect: Callable[[Path], Connector]) -> None:
        self._root = root
        self._connect = connect

    def connect(self) -> Connector:
        return self._connect(self._root)

    def put(self, name: str, data: bytes) -> None:
        (self._root / name).write_bytes(data)

    def remove(self, name: str) -> None:
        (self._root / name).unlink()


def folder(root: Path) -> LocalFolder:
    return LocalFolder(root, name="docs")


def settled(root: Path) -> LocalFolder:
    """A folder whose files were all written long ago."""
    return LocalFolder(root, name="docs", now_ns=lambda: 1 << 62)


@pytest.mark.parametrize("connect", [folder, settled])
def test_a_folder_keeps_the_contract(tmp_path: Path, connect: Callable[[Path], Connector]) -> None:
    check_connector(FolderCorpus(tmp_path, connect))
    assert os.listdir(tmp_path) == []


class Spoiled:
    """A connector that breaks one promise."""

    def __init__(self, root: Path) -> None:
        self._inner = settled(root)

    @property
    def kind(self) -> str:
        return "folder"

    def list_page(self, cursor: str | None, *, limit: int) -> ChangePage:
        return self._inner.list_page(cursor, limit=limit)

    def restart(self, cursor: str | None) -> str | None:
        return self._inner.restart(cursor)

    def fetch(self, change: Change, *, max_bytes: int) -> FetchedDocument:
        return self._inner.fetch(change, max_bytes=max_bytes)


class ForgetsItsLimit(Spoiled):
    def list_page(self, cursor: str | None, *, limit: int) -> ChangePage:
        return super().list_page(cursor, limit=limit + 1)


class AlwaysBeginsAnew(Spoiled):
    def list_page(self, cursor: str | None, *, limit: int) -> ChangePage:
        return super().list_page(None, limit=limit)


class SkipsOne(Spoiled):
    def list_page(self, cursor: str | None, *, limit: int) -> ChangePage:
        page = super().list_page(cursor, limit=limit)
        return dataclasses.replace(page, changes=page.changes[: 2 if len(page.changes) == 3 else None])


class HasOneVersion(Spoiled):
    def list_page(self, cursor: str | None, *, limit: int) -> ChangePage:
        page = super().list_page(cursor, limit=limit)
        return dataclasses.replace(page, changes=[dataclasses.replace(c, version="1") for c in page.changes])

    def fetch(self, change: Change, *, max_bytes: int) -> FetchedDocument:
        return dataclasses.replace(super().fetch(change, max_bytes=max_bytes), version="1")


class HasForeignIds(Spoiled):
    def list_page(self, cursor: str | None, *, limit: int) -> ChangePage:
        page = super().list_page(cursor, limit=limit)
        return dataclasses.replace(
            page, changes=[dataclasses.replace(c, source_id=f"drive:{c.locator}") for c in page.changes]
        )


class ReadsEverything(Spoiled):
    def fetch(self, change: Change, *, max_bytes: int) -> FetchedDocument:
        return super().fetch(change, max_bytes=1 << 30)


class NamesNothingGone(Spoiled):
    """Of a pass that begins at a cursor it claims that it was a feed of changes."""

    _is_feed = False

    def list_page(self, cursor: str | None, *, limit: int) -> ChangePage:
        if cursor is None or "at" not in json.loads(cursor):
            self._is_feed = cursor is not None
        page = super().list_page(cursor, limit=limit)
        return dataclasses.replace(page, is_whole=not self._is_feed)

    def restart(self, cursor: str | None) -> str | None:
        return None


class NeverListsAnew(NamesNothingGone):
    def restart(self, cursor: str | None) -> str | None:
        return cursor


class LabelsWithoutWords(Spoiled):
    def list_page(self, cursor: str | None, *, limit: int) -> ChangePage:
        page = super().list_page(cursor, limit=limit)
        return dataclasses.replace(page, changes=[dataclasses.replace(c, label=c.path) for c in page.changes])


class DescribesOtherwise(LabelsWithoutWords):
    def describe(self, change: Change) -> Description:
        return Description(change.path, title="Another title", metadata={"path": change.path})


class CutsShort(Spoiled):
    def fetch(self, change: Change, *, max_bytes: int) -> FetchedDocument:
        document = super().fetch(change, max_bytes=max_bytes)
        return dataclasses.replace(document, data=document.data[:-1])


@pytest.mark.parametrize(
    ("spoiled", "promise"),
    [
        (ForgetsItsLimit, "A page of at most"),
        (AlwaysBeginsAnew, "must end within"),
        (SkipsOne, "Pages of 3 must list the same"),
        (HasOneVersion, "must not have the version"),
        (LabelsWithoutWords, "must describe documents"),
        (DescribesOtherwise, "must be described as it is fetched"),
        (HasForeignIds, "must begin with the kind"),
        (ReadsEverything, "must raise DocumentTooLarge"),
        (NamesNothingGone, "must name what was removed"),
        (NeverListsAnew, "lists everything anew must be whole"),
        (CutsShort, "must be fetched as they were put"),
    ],
)
def test_a_broken_promise_is_found(tmp_path: Path, spoiled: Callable[[Path], Connector], promise: str) -> None:
    with pytest.raises(AssertionError, match=promise):
        check_connector(FolderCorpus(tmp_path, spoiled))


def test_a_connector_is_made_of_its_stored_configuration(tmp_path: Path) -> None:
    root = tmp_path / os.fsdecode(b"caf\xe9 100%")
    root.mkdir()
    (root / "a.md").write_text("a")
    (root / "access.yaml").write_text("[]")
    config = folder_config(root, access=None, access_file=root / "access.yaml")
    page = make_connector("folder", config, name="menu").list_page(None, limit=10)
    assert [change.source_id for change in page.changes] == ["folder:menu/a.md"]


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(ValidationError, match="'ftp'"):
        make_connector("ftp", {}, name="x")
