"""What `sync folder` was asked for, checked, and the connector's row that comes of it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headwater.models import Scope
from workers.cli.context import Invocation
from workers.cli.corpus import embedder_note, ensure_corpus
from workers.cli.errors import WrongUsage, arguments
from workers.cli.folders import KnownFolder, choose_connector
from workers.cli.services import Services

if TYPE_CHECKING:
    from activities.connectors.access_rule import AccessRule
    from activities.embedder_source import EmbedderSource
    from activities.store import Store
    from activities.store.connectors import ConnectorRow


@dataclass(frozen=True)
class FolderRequest:
    """What the command line asked for."""

    scope: Scope
    root: str
    name: str | None
    rule: "AccessRule | None"
    access_file: str | None
    full: bool


def read_request(
    path: str,
    corpus: str,
    name: str | None,
    grants: tuple[str, ...],
    access: str | None,
    full: bool,
    *,
    may_be_elsewhere: bool,
) -> FolderRequest:
    """The request, checked before any service is started. Raises `WrongUsage`."""
    from activities.connectors.access_rule import AccessRule
    from activities.connectors.folder_ids import path_to_text
    from headwater.ids import check_scope_part

    if grants and access is not None:
        raise WrongUsage("--grant and --access cannot be given together: put all rules into the --access file.")
    with arguments():
        scope = Scope.parse(corpus)
        if name is not None:
            check_scope_part(name, "connector")
        rule = (
            AccessRule.from_grants(grants) if grants else AccessRule.from_file(access) if access is not None else None
        )
    return FolderRequest(
        scope=scope,
        root=path_to_text(_real_folder(path, may_be_elsewhere=may_be_elsewhere)),
        name=name,
        rule=rule,
        access_file=access,
        full=full,
    )


def _real_folder(path: str, *, may_be_elsewhere: bool) -> str:
    real = os.path.realpath(path)
    if os.path.isdir(real):
        return real
    if os.path.lexists(path):
        raise WrongUsage(f"{path} is not a folder: give the folder that holds it.")
    if may_be_elsewhere and os.path.isabs(path):
        return os.path.normpath(path)  # configured workers may run where this path exists
    raise WrongUsage(f"{path} does not exist: give the path of a folder.")


def register(
    invocation: Invocation, store: "Store", services: Services, embedders: "EmbedderSource", request: FolderRequest
) -> "ConnectorRow":
    """The connector's row, made or changed as asked; says what the person should know."""
    from activities.connectors import default_connector_name
    from activities.connectors.folder_ids import path_from_text
    from activities.store.connectors import connectors_of, ensure_connector

    output = invocation.output
    known = {row.name: row for row in connectors_of(store, request.scope) if row.kind == "folder"}
    choice = choose_connector(
        [KnownFolder(row.name, row.config["root"]) for row in known.values()],
        root=request.root,
        name=request.name,
        default_name=default_connector_name(request.scope, path_from_text(request.root)),
        # Configured workers may run where other folders are than here.
        is_gone=lambda root: not os.path.lexists(path_from_text(root)) if services.is_embedded else None,
    )
    build = ensure_corpus(store, request.scope, invocation.settings)
    if services.is_embedded:
        embedders.of(build)  # configured workers have their own models, and check for themselves
    for note in (*choice.notes, embedder_note(build, request.scope, invocation.settings)):
        if note:
            output.note(note)
    config = config_of(request, None if choice.is_new else known[choice.name].config)
    if config["access"] is None:
        output.warn(
            "Nobody may read these documents: they are indexed, and found by no one until a sync is given "
            "--grant or --access."
        )
    has_rule = request.rule is not None
    return ensure_connector(
        store, build.scope_id, choice.name, "folder", config, new_rule=has_rule, actor="headwater sync folder"
    )


def config_of(request: FolderRequest, stored: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the connector's row is to hold: what was asked for, and the rest of what is ``stored``."""
    from activities.connectors import folder_config
    from activities.connectors.folder_ids import path_from_text

    config = folder_config(path_from_text(request.root), access=request.rule, access_file=request.access_file)
    if stored is None:
        return config
    if request.rule is None:
        config["access"] = stored.get("access")
    if request.access_file is None:  # grants on the command line make no document of the file that held them before
        config["access_file"] = _moved_along(stored.get("access_file"), stored["root"], request.root)
    return {**stored, **config}


def _moved_along(access_file: str | None, old_root: str, root: str) -> str | None:
    if access_file is None or not access_file.startswith(f"{old_root}/"):
        return access_file
    return root + access_file.removeprefix(old_root)
