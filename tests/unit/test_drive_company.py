"""The imaginary company of the random walk: a seed is always the same life, and three seeds meet all that Drive leaves open."""

from dataclasses import asdict

import pytest

from tests.pipeline.drive_company import Company
from tests.pipeline.drive_deeds import BusyCompany

CHOICES = {
    "coalesce_changes": {True, False},
    "change_states": {"current", "then"},
    "descendants_on_move": {True, False},
    "descendants_on_trash": {True, False},
    "descendants_on_access": {True, False},
    "drive_items_in_user_log": {"never", "used", "always"},
    "lost_drive_status": {403, 404},
    "duplicate_across_pages": {True, False},
    "empty_pages": {True, False},
    "page_cap": {None, 2, 5},
    "or_parents_finds_nothing": {True, False},
    "newest_first": {True, False},
    "omit_permissions": {True, False},
    "byte_order_mark": {True, False},
    "export_limit": {4, 1 << 20},
}


@pytest.mark.parametrize("first", [1, 4])
def test_three_seeds_meet_every_value_of_every_mode(first: int) -> None:
    companies = [Company(seed) for seed in range(first, first + 3)]
    met = [asdict(company.world.modes) for company in companies]
    assert {name: {each[name] for each in met} for name in CHOICES} == CHOICES
    assert {company.everyone_finds for company in companies} == {True, False}
    assert {len(company.connectors[0].folders) for company in companies} == {0, 1, 2}


def test_the_same_seed_is_the_same_life() -> None:
    lives = [BusyCompany(5) for _ in range(2)]
    for life in lives:
        for _ in range(40):
            life.step()
    one, other = (
        {file.id: (life.world.path_of(file.id), file.version) for file in life.world.all_files()} for life in lives
    )
    assert one == other
    assert len(one) > 10
