"""Which embedder a corpus is continued with, whatever is configured meanwhile."""

from pathlib import Path

import pytest

from activities.store import Store
from headwater.models import Scope
from tests.unit.tiny_onnx import write_model, write_vocabulary
from workers.cli.corpus import embedder_note, ensure_corpus
from workers.settings import Settings, load_settings

SCOPE = Scope.parse("t1/docs/handbook")


def model_folder(folder: Path) -> Path:
    folder.mkdir()
    write_model(folder / "model.onnx")
    write_vocabulary(folder)
    return folder


def configured(monkeypatch: pytest.MonkeyPatch, embedder: str) -> Settings:
    monkeypatch.setenv("HEADWATER_EMBEDDER", embedder)
    return load_settings()


def test_a_model_folder_that_was_moved_is_found_in_its_new_place(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = model_folder(tmp_path / "old")
    first = ensure_corpus(store, SCOPE, configured(monkeypatch, f"onnx:{old}"))
    new = old.rename(tmp_path / "new")
    settings = configured(monkeypatch, f"onnx:{new}")
    moved = ensure_corpus(store, SCOPE, settings)
    assert (moved.build_id, moved.embedder_spec) == (first.build_id, f"onnx:{new}")
    assert embedder_note(moved, SCOPE, settings) is None


def test_another_model_changes_nothing_and_is_explained(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ensure_corpus(store, SCOPE, configured(monkeypatch, "hash:64"))
    for other in ("hash:32", f"onnx:{tmp_path / 'nowhere'}"):
        settings = configured(monkeypatch, other)
        assert ensure_corpus(store, SCOPE, settings) == first
        assert f"headwater reindex --corpus {SCOPE}" in (embedder_note(first, SCOPE, settings) or "")
