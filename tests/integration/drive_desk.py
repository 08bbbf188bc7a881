"""Ada's folder on an emulated Drive, with a corpus that follows it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from activities.store import Store
from tests.drive.world import World
from tests.integration.drive_corpus import ADA, DriveCorpus, drive_corpus, peopled, shared_folder


@dataclass(frozen=True)
class Desk:
    """What Ada puts into the folder, only she and the robot may read."""

    world: World
    folder: str
    corpus: DriveCorpus

    def put(self, name: str, data: bytes | str, *, parent: str | None = None, **fields: Any) -> str:
        """A file's id."""
        return self.world.add_file(name, data, parent=parent or self.folder, owner=ADA, **fields).id

    def put_document(self, name: str, exports: Mapping[str, bytes | str], *, kind: str = "document") -> str:
        """The id of a document of Google's own, with what it is exported as."""
        return self.world.add_document(name, exports, kind=kind, parent=self.folder, owner=ADA).id


@contextmanager
def open_desk(store: Store, database: str, folder: Path, **config: Any) -> Iterator[Desk]:
    """A desk with an empty folder, and a corpus of nothing else."""
    world = peopled()
    office = shared_folder(world)
    with drive_corpus(store, database, folder, world, folder_ids=[office], **config) as corpus:
        yield Desk(world, office, corpus)
