"""The schemas that hosts in other languages read are those of the models that check them."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it comes without types
from pydantic import BaseModel, ValidationError
from temporalio.contrib.pydantic import pydantic_data_converter

from headwater.contracts.deletion import LayerInput
from headwater.contracts.repoint import MoveLayerInput
from headwater.models import Scope
from workers.schemas import FOLDER, PUBLIC, schemas

SCOPE = {"tenant_id": "t1", "resource_id": "docs", "corpus_id": "handbook"}
ALICE = {"principal_id": "alice", "tenant_id": "t1"}
REQUEST = {"scope": SCOPE, "request_id": "r1"}
# An input of each workflow, and what is wrong with it when the second part is put in.
INPUTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "SyncCorpus": ({"scope": SCOPE, "connector": "shelf"}, {"connector": "a b"}),
    "SyncTick": ({"scope": SCOPE, "connector": "shelf"}, {"connector": ""}),
    "IngestSources": (
        {**REQUEST, "sources": [{"source_id": "a", "text": "x", "metadata": {"k": [1, None]}}]},
        {"sources": [{"text": "x"}]},
    ),
    "SetSourceAccess": (
        {**REQUEST, "grants": [{"source_id": "a", "everyone": True, "access_version": 2}]},
        {"grants": [{"source_id": "a", "access_version": 0}]},
    ),
    "DeleteSources": ({**REQUEST, "source_ids": ["a"]}, {"source_ids": ["a b"]}),
    "PropagateDeletion": ({**REQUEST, "source_id": "a", "authorization": ALICE}, {"reason": "whim"}),
    "RepointSource": ({**REQUEST, "from": "a", "to": "b", "authorization": ALICE}, {"page_size": 5_000}),
    "RenameSources": ({**REQUEST, "prefix": {"from": "a/", "to": "b/"}, "authorization": ALICE}, {"scope": {}}),
    "ReindexCorpus": ({"scope": SCOPE, "embedder": "hash:64"}, {"retire_after_s": -1}),
    "SetGeneration": ({"scope": SCOPE, "generation": 7}, {"generation": "7"}),
    "CollectGarbage": ({"scope": SCOPE}, {"older_than_s": "1h"}),
}


def test_the_files_are_those_that_would_be_written() -> None:
    written = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.json")}
    assert written == schemas(), "run: python -m workers.schemas"


def test_every_workflow_has_both() -> None:
    assert set(INPUTS) == set(PUBLIC)
    assert {f"{name}.{side}.json" for name in PUBLIC for side in ("input", "output")} <= set(schemas())


@pytest.mark.parametrize("name", PUBLIC)
def test_schema_and_model_agree_on_what_is_an_input(name: str) -> None:
    right, wrong = INPUTS[name]
    schema = json.loads(schemas()[f"{name}.input.json"])
    Draft202012Validator.check_schema(schema)
    accepts = Draft202012Validator(schema).is_valid
    for said, is_one in ((right, True), ({**right, "unheard_of": 1}, True), ({**right, **wrong}, False)):
        assert accepts(said) is is_one
        assert _is_valid(PUBLIC[name].input, said) is is_one
    for field in schema["required"]:
        without = {key: value for key, value in right.items() if key != field}
        assert not accepts(without) and not _is_valid(PUBLIC[name].input, without), field


@pytest.mark.parametrize(
    ("name", "told", "fields"),
    [
        (
            "DeletionHandler",
            LayerInput(scope=Scope.model_validate(SCOPE), source_id="a", ids=("a", "b"), reason="revoked"),
            {"scope", "source_id", "ids", "reason"},
        ),
        (
            "RepointHandler",
            MoveLayerInput(scope=Scope.model_validate(SCOPE), from_id="a/", to_id="b/", is_prefix=True, until="a/7"),
            {"scope", "from", "to", "is_prefix", "after", "until"},
        ),
    ],
)
def test_what_a_handler_is_told_is_what_its_schema_says(name: str, told: BaseModel, fields: set[str]) -> None:
    schema = json.loads(schemas()[f"{name}.input.json"])
    Draft202012Validator.check_schema(schema)
    (payload,) = pydantic_data_converter.payload_converter.to_payloads([told])
    sent = json.loads(payload.data)
    Draft202012Validator(schema).validate(sent)
    assert set(sent) == set(schema["properties"]) == set(schema["required"]) == fields


def test_unknown_fields_are_ignored_in_what_is_nested_too() -> None:
    accepts = Draft202012Validator(json.loads(schemas()["PropagateDeletion.input.json"])).is_valid
    said = {
        **INPUTS["PropagateDeletion"][0],
        "scope": {**SCOPE, "region": "eu"},
        "authorization": {**ALICE, "token_id": "x"},
    }
    assert accepts(said) and _is_valid(PUBLIC["PropagateDeletion"].input, said)


def _is_valid(model: type[BaseModel], said: Any) -> bool:
    try:
        model.model_validate(said)
    except ValidationError:
        return False
    return True
