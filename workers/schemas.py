"""JSON Schemas of what the public workflows take and answer, and hosts' handlers are told: `python -m workers.schemas`.

Made from the models that check the inputs, into `deploy/schemas`; a test keeps them equal.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel

from headwater import contracts
from headwater.contracts.deletion import LayerInput
from headwater.contracts.repoint import MoveLayerInput

FOLDER: Final = Path(__file__).parent.parent / "deploy" / "schemas"
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

Model = type[BaseModel]


@dataclass(frozen=True)
class PublicWorkflow:
    """What one workflow takes and answers; its updates and queries by name."""

    input: Model
    output: Model
    updates: Mapping[str, tuple[Model | None, Model | None]] = field(default_factory=dict)
    queries: Mapping[str, Model] = field(default_factory=dict)


PUBLIC: Final = {
    "SyncCorpus": PublicWorkflow(
        contracts.SyncCorpusInput,
        contracts.SyncResult,
        updates={"sync_now": (contracts.SyncNowInput, contracts.SyncNow)},
        queries={"status": contracts.SyncStatus},
    ),
    "SyncTick": PublicWorkflow(contracts.SyncTickInput, contracts.SyncTickResult),
    "IngestSources": PublicWorkflow(contracts.IngestSourcesInput, contracts.IngestSourcesResult),
    "SetSourceAccess": PublicWorkflow(contracts.SetSourceAccessInput, contracts.SetSourceAccessResult),
    "DeleteSources": PublicWorkflow(contracts.DeleteSourcesInput, contracts.DeleteSourcesResult),
    "PropagateDeletion": PublicWorkflow(contracts.PropagateDeletionInput, contracts.PropagateDeletionResult),
    "RepointSource": PublicWorkflow(contracts.RepointSourceInput, contracts.RepointResult),
    "RenameSources": PublicWorkflow(contracts.RenameSourcesInput, contracts.RenameSourcesResult),
    "ReindexCorpus": PublicWorkflow(
        contracts.ReindexCorpusInput,
        contracts.ReindexCorpusResult,
        updates={"abort": (None, contracts.ReindexProgress)},
        queries={"progress": contracts.ReindexProgress},
    ),
    "SetGeneration": PublicWorkflow(contracts.SetGenerationInput, contracts.SetGenerationResult),
    "CollectGarbage": PublicWorkflow(contracts.CollectGarbageInput, contracts.CollectGarbageResult),
}

# Activities of hosts, by the setting that names them. Each answers with a whole number.
HANDLERS: Final[Mapping[str, Model]] = {"DeletionHandler": LayerInput, "RepointHandler": MoveLayerInput}


def schemas() -> dict[str, str]:
    """The text of each file, by its name."""
    return {f"{name}.json": _text(schema) for name, schema in _schemas()}


def _schemas() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, workflow in PUBLIC.items():
        yield f"{name}.input", _schema(workflow.input, "validation")
        yield f"{name}.output", _schema(workflow.output, "serialization")
        for update, (asked, answer) in workflow.updates.items():
            if asked is not None:
                yield f"{name}.{update}.input", _schema(asked, "validation")
            if answer is not None:
                yield f"{name}.{update}.output", _schema(answer, "serialization")
        for query, answer in workflow.queries.items():
            yield f"{name}.{query}.output", _schema(answer, "serialization")
    for name, told in HANDLERS.items():
        yield f"{name}.input", _schema(told, "serialization")


def _schema(model: Model, mode: Literal["validation", "serialization"]) -> dict[str, Any]:
    return {"$schema": DIALECT, "title": model.__name__, **_plain(model.model_json_schema(by_alias=True, mode=mode))}


def _plain(value: Any) -> Any:
    """Without titles that repeat a field's name, nor a ban on further fields: workflows ignore what they do not know."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items() if not _is_left_out(name, part)}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value.replace("``", "`") if isinstance(value, str) else value


def _is_left_out(name: str, part: Any) -> bool:
    # A field may itself be called so; its schema is an object.
    return (name == "title" and isinstance(part, str)) or (name == "additionalProperties" and part is False)


def _text(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def main(folder: Path = FOLDER) -> None:
    """Write all files anew."""
    folder.mkdir(exist_ok=True)
    for name, text in schemas().items():
        (folder / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
