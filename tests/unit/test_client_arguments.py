"""The client takes what the workflows take, and takes one run for another only where both are asked for the same."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import pytest

from headwater import contracts
from headwater.client import HeadwaterClient
from headwater.contracts import (
    CollectGarbageInput,
    DeleteSourcesInput,
    IngestSourcesInput,
    PropagateDeletionInput,
    ReindexCorpusInput,
    RenameSourcesInput,
    RepointSourceInput,
    SetGenerationInput,
    SetSourceAccessInput,
    SyncCorpusInput,
    SyncNowInput,
    SyncTickInput,
    WorkflowInput,
)
from headwater.contracts.shared import RequestInput
from tests.unit.recipe_steps import SCOPE

METHODS: dict[type[WorkflowInput], Callable[..., object]] = {
    CollectGarbageInput: HeadwaterClient.collect_garbage,
    DeleteSourcesInput: HeadwaterClient.delete_sources,
    IngestSourcesInput: HeadwaterClient.ingest_sources,
    PropagateDeletionInput: HeadwaterClient.propagate_deletion,
    ReindexCorpusInput: HeadwaterClient.reindex_corpus,
    RenameSourcesInput: HeadwaterClient.rename_sources,
    RepointSourceInput: HeadwaterClient.repoint_source,
    SetGenerationInput: HeadwaterClient.set_generation,
    SetSourceAccessInput: HeadwaterClient.set_source_access,
    SyncCorpusInput: HeadwaterClient.sync_corpus,
}
OTHERS = {
    SyncNowInput,
    SyncTickInput,
    WorkflowInput,
    RequestInput,
}  # asked by workflows and schedules, or asked by none


@pytest.mark.parametrize("model", METHODS, ids=lambda model: model.__name__)
def test_a_method_takes_every_argument_of_its_workflow(model: type[WorkflowInput]) -> None:
    taken = {name.strip("_") for name in signature(METHODS[model]).parameters}
    wanted = {name.strip("_") for name in model.model_fields if name != "requested_by"}  # said for all, in `connect`
    assert wanted <= taken


def test_every_workflow_that_a_host_may_ask_has_a_method() -> None:
    models = {each for each in vars(contracts).values() if isinstance(each, type) and issubclass(each, WorkflowInput)}
    assert models - OTHERS == METHODS.keys()


@dataclass
class Runs:
    """Keeps what is asked of Temporal, and answers as a re-index does."""

    asked: list[tuple[Mapping[str, Any], str]] = field(default_factory=list)

    async def joined(self, workflow: str, wanted: Mapping[str, Any], *, workflow_id: str, asked_for: str) -> object:
        self.asked.append((wanted, asked_for))
        return {"build": 2, "generation": 1, "sources": 0, "chunks": 0}


async def test_a_reindex_is_joined_only_by_one_that_is_asked_for_the_same() -> None:
    runs: Any = Runs()
    client = HeadwaterClient(runs, None, "headwater", "host")
    kinds: tuple[dict[str, Any], ...] = (
        {},
        {"language": "german"},
        {"language": "french"},
        {"retire_after_s": 60},
        {"embedder": "hash:64"},
    )
    for arguments in kinds:
        for _ in range(2):
            await client.reindex_corpus(SCOPE, **arguments)

    assert [wanted.get("language") for wanted, _ in runs.asked] == [
        None,
        None,
        "german",
        "german",
        "french",
        "french",
        *[None] * 4,
    ]
    names = [name for _, name in runs.asked]
    assert names[::2] == names[1::2] and len(set(names)) == 5
