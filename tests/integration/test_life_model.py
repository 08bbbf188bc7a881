"""Whatever happens to a corpus, and in whatever order, its readers see what a plain model of the rules says."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from activities.store import Store
from headwater.embedders.hashing import HashEmbedder
from headwater.retriever import Retriever
from tests.integration.life_machine import Life

USUAL = settings(
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    print_blob=False,
    stateful_step_count=40,
)


@pytest.fixture
def retriever(database: str) -> Iterator[Retriever]:
    with Retriever.connect(database, embedder=HashEmbedder(8)) as retriever:
        yield retriever


def lives(store: Store, retriever: Retriever) -> type[Life]:
    """Lives in this database."""

    class LifeHere(Life):
        def __init__(self) -> None:
            super().__init__(store, retriever)

    return LifeHere


@pytest.mark.parametrize("examples", [3, pytest.param(12, marks=pytest.mark.long)])
def test_readers_see_what_the_model_says(store: Store, retriever: Retriever, examples: int) -> None:
    """The same few lives in every run. One that fails is told whole: making it short takes minutes, see the long test."""
    run_state_machine_as_test(
        lives(store, retriever),
        settings=settings(USUAL, max_examples=examples, derandomize=True, phases=[Phase.generate]),
    )


@pytest.mark.soak
def test_readers_see_what_the_model_says_in_many_lives(store: Store, retriever: Retriever) -> None:
    run_state_machine_as_test(lives(store, retriever), settings=settings(USUAL, max_examples=200))
