"""A corpus is embedded by what it was built with, or not at all."""

from dataclasses import replace

import pytest

from activities.embedder_source import EmbedderSource
from activities.store.scopes import LiveBuild
from headwater.embedders import Embedder, resolve_embedder
from headwater.errors import EmbedderMismatch, PermanentError
from headwater.testing import HashEmbedder

BUILD = LiveBuild(
    scope_id=1,
    build_id=1,
    slab=0,
    space_id=1,
    embedder_spec="hash:8",
    embedder_identity=HashEmbedder(8).identity,
    dimensions=8,
    max_tokens=16_384,
    chunker="chars/1 size=1000 overlap=100 tokens=any",
    lexicon="words-2:english",
    avgdl=None,
    corpus="t1/docs/handbook",
)


def test_an_embedder_is_loaded_once() -> None:
    loaded: list[str] = []

    def resolve(spec: str) -> Embedder:
        loaded.append(spec)
        return resolve_embedder(spec)

    source = EmbedderSource(resolve)
    assert source.of(BUILD) is source.of(BUILD)
    assert loaded == ["hash:8"]


def test_another_identity_is_refused_with_the_way_out() -> None:
    with pytest.raises(EmbedderMismatch, match=r"embedded by other; hash:8 is .*reindex --corpus t1/docs/handbook"):
        EmbedderSource().of(replace(BUILD, embedder_identity="other"))


def test_a_model_that_is_gone_is_refused_with_the_way_out() -> None:
    class Gone(HashEmbedder):
        @property
        def identity(self) -> str:
            raise PermanentError("The folder holds no model.")

    for resolve in (lambda _: Gone(8), resolve_embedder):
        with pytest.raises(EmbedderMismatch, match=r"cannot be loaded: .*reindex --corpus t1/docs/handbook"):
            EmbedderSource(resolve).of(replace(BUILD, embedder_spec="onnx:/nowhere"))
