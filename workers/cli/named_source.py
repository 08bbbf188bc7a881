"""The corpus and the document that a command names, and what to say where there is none."""

import os
from typing import TYPE_CHECKING, Final

from headwater.ids import SOURCE_ID, check_source_id
from headwater.models import Scope
from workers.cli.errors import CommandFailed, arguments

if TYPE_CHECKING:
    from activities.store import Store

SIMILAR_SHOWN: Final = 3


def require_corpus(store: "Store", scope: Scope) -> None:
    """A corpus that is only misspelt is not made in passing."""
    from activities.store import status

    if not status.is_known(store, scope):
        raise CommandFailed(f"Corpus {scope} does not exist: `headwater status` lists those that do.")


def not_found(store: "Store", scope: Scope, given: str) -> str:
    """A path is easily taken for an id: the sentence names documents whose id ends in it."""
    similar = similar_ids(store, scope, given)
    if similar:
        return f"Corpus {scope} has no document with the id {given}. Did you mean {' or '.join(similar)}?"
    with arguments():
        check_source_id(given, "ID")
    return f"Corpus {scope} has no document {given}: `headwater status --corpus {scope}` lists them."


def similar_ids(store: "Store", scope: Scope, given: str) -> list[str]:
    """A few documents whose id ends in what was given."""
    from activities.connectors.folder_ids import encode_path
    from activities.store import status

    path = given.removeprefix("./").lstrip("/") or given or "/"
    endings = [ending for ending in (path, encode_path(os.fsencode(path))) if SOURCE_ID.match(ending)]
    return status.sources_ending(store, scope, endings, limit=SIMILAR_SHOWN)
