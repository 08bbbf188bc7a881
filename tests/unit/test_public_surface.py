"""What hosts may rely on: these names, and no others."""

import re
import subprocess
import sys
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import pytest

import headwater

PUBLIC = {
    "AccessDenied", "AccessError", "AsyncRetriever", "Authorization", "Chunk", "Citation", "Embedder", "EmbedderMismatch",
    "HeadwaterError", "Hit", "LimitError", "PermanentError", "Provenance", "RerankError", "RerankLimitError", "Reranker", "RetrievalResult",
    "Retriever", "Scope", "ScopeError", "Scores", "StoreError", "TransientError", "Trust", "ValidationError", "chunk_markdown",
    "chunk_text", "context_provider", "evidence_from_citation", "fuse_reciprocal_rank", "resolve_embedder",
    "resolve_reranker",
}  # fmt: skip


def test_the_public_surface_is_this_list() -> None:
    assert set(headwater.__all__) == PUBLIC and len(headwater.__all__) == len(PUBLIC)
    assert all(getattr(headwater, name).__doc__ for name in PUBLIC)


ASKED: dict[str, Any] = {
    "top_k": 5, "candidates": None, "lexical": "off", "fusion": "rrf", "rrf_k": 60, "filter": None, "reranker": None,
    "sensitivities": None, "generation": None, "exact": False, "max_result_bytes": 65_536, "max_context_tokens": 2_000,
    "on_access_denied": None, "redactor": None,
}  # fmt: skip
OPENED: dict[str, Any] = {"schema": "headwater", "hosted_sensitivities": ()}


@pytest.mark.parametrize("retriever", [headwater.Retriever, headwater.AsyncRetriever])
def test_a_question_takes_what_hosts_were_promised_with_these_defaults(retriever: type) -> None:
    for method, first, needed, promised in (
        ("retrieve", "query", {"authorization"}, ASKED),
        ("connect", "dsn", {"embedder"}, OPENED),
    ):
        taken = {
            name: each for name, each in signature(getattr(retriever, method)).parameters.items() if name != "self"
        }
        by_name = {name: each for name, each in taken.items() if each.kind is Parameter.KEYWORD_ONLY}

        assert {*taken} - {*by_name} == {first} and taken[first].default is Parameter.empty
        assert {name for name, each in by_name.items() if each.default is Parameter.empty} == needed
        assert {name: by_name[name].default for name in promised} == promised
    assert {"scope", "scopes"} <= {*signature(retriever.retrieve).parameters}  # type: ignore[attr-defined]  # a class


def test_what_it_lists_is_what_it_has() -> None:
    assert set(dir(headwater)) >= PUBLIC
    assert not hasattr(headwater, "resolve_connector")


LIBRARY = Path(headwater.__file__).parent
HOW_IT_IS_DONE = {"answering", "store"}


def test_the_map_says_of_each_module_and_package_whether_it_is_for_hosts() -> None:
    readme = (LIBRARY.parent / "README.md").read_text()
    (tables,) = re.findall(r"^## The map\n(.*?)^## ", readme, re.MULTILINE | re.DOTALL)
    listed = [
        {name.rstrip("/") for row in rows.splitlines() for name in re.findall(r"`([a-z_/]+)`", row.split("|")[1])}
        for rows in re.findall(r"^\|---\|---\|\n((?:\|.*\n)+)", tables, re.MULTILINE)
    ]
    modules = {file.stem for file in LIBRARY.glob("*.py")} - {"__init__"}
    packages = {file.parent.name for file in LIBRARY.glob("*/__init__.py")}

    assert listed == [modules, packages - HOW_IT_IS_DONE, HOW_IT_IS_DONE]
    for name in HOW_IT_IS_DONE:
        assert f"headwater.{name}" in str(headwater.__doc__)
        assert str(import_module(f"headwater.{name}").__doc__).endswith("Not for import by hosts.")


def test_what_hosts_are_shown_and_promised_is_public() -> None:
    root = Path(__file__).parents[2]
    shown = [root / "README.md", *(root / "retrieval").rglob("*.md"), *(root / "tests/typing").glob("*.py")]
    imported = {
        (module, file.name)
        for file in shown
        for module in re.findall(r"^\s*(?:from|import) headwater\.([a-z_]+)", file.read_text(), re.MULTILINE)
    }
    assert len(imported) > 10
    assert not [each for each in imported if each[0] in HOW_IT_IS_DONE]


def test_its_errors_and_models_cost_no_numpy_and_no_psycopg() -> None:
    program = """
import sys
import headwater
from headwater import HeadwaterError, Scope
loaded = {"numpy", "psycopg"} & set(sys.modules)
assert not loaded, loaded
from headwater import *
assert all(globals()[name] is getattr(headwater, name) for name in headwater.__all__)
assert Retriever is sys.modules["headwater.retriever"].Retriever
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, timeout=60)


def test_importing_it_starts_and_configures_nothing_and_loads_no_engine() -> None:
    program = """
import logging, os, sys, threading
handlers, variables = list(logging.root.handlers), dict(os.environ)
import headwater
assert threading.active_count() == 1, threading.enumerate()
assert logging.root.handlers == handlers and dict(os.environ) == variables
engines = {"temporalio", "onnxruntime", "tokenizers", "pypdf", "activities", "workflows", "workers"} & set(sys.modules)
assert not engines, engines
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, timeout=60)


def test_the_client_is_a_module_of_its_own_and_needs_its_extra_only_in_use() -> None:
    program = """
import asyncio, sys
class Nowhere:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == "temporalio":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Nowhere())
import headwater, headwater.contracts
from headwater.client import HeadwaterClient
assert "client" not in headwater.__all__ and "psycopg" not in sys.modules
try:
    asyncio.run(HeadwaterClient.connect(None, "127.0.0.1:7233"))
except headwater.PermanentError as error:
    assert "pip install 'headwater[client]'" in str(error), error
else:
    raise AssertionError("it needs what is not there")
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, timeout=60)


def test_only_the_client_imports_temporal() -> None:
    library = Path(headwater.__file__).parent
    importing = {
        file.relative_to(library).as_posix()
        for file in library.rglob("*.py")
        if re.search(r"^\s*(from|import) temporalio", file.read_text(), re.MULTILINE)
    }
    assert importing == {"client/headwater_client.py", "client/runs.py"}


CODES = {
    "HeadwaterError": "ERR_HEADWATER",
    "TransientError": "ERR_HEADWATER_TRANSIENT",
    "PermanentError": "ERR_HEADWATER_PERMANENT",
    "ValidationError": "ERR_HEADWATER_VALIDATION",
    "LimitError": "ERR_HEADWATER_LIMIT",
    "ScopeError": "ERR_HEADWATER_SCOPE",
    "AccessError": "ERR_HEADWATER_ACCESS",
    "EmbedderMismatch": "ERR_HEADWATER_EMBEDDER_MISMATCH",
    "RerankError": "ERR_HEADWATER_RERANK",
    "RerankLimitError": "ERR_HEADWATER_RERANK_LIMIT",
    "StoreError": "ERR_HEADWATER_STORE",
}


def test_each_error_that_a_host_may_catch_has_a_code_of_its_own() -> None:
    public = [getattr(headwater, name) for name in PUBLIC]
    errors = [each for each in public if isinstance(each, type) and issubclass(each, headwater.HeadwaterError)]

    assert {each.__name__: each.code for each in errors} == CODES
    assert {each.__name__: each("what to do").code for each in errors} == CODES
    assert len(set(CODES.values())) == len(CODES)


def test_whoever_catches_a_wider_error_or_a_builtin_one_gets_those_below_it() -> None:
    assert issubclass(headwater.RerankError, headwater.ValidationError)
    assert issubclass(headwater.RerankLimitError, headwater.LimitError)
    for wrong in (headwater.ValidationError, headwater.LimitError, headwater.ScopeError):
        assert issubclass(wrong, ValueError)
    assert issubclass(headwater.AccessError, PermissionError)
