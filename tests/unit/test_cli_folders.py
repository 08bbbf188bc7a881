"""Which connector `sync folder PATH` means."""

import pytest

from workers.cli.errors import WrongUsage
from workers.cli.folders import Choice, KnownFolder, choose_connector

DEFAULT = "docs-0a1b2c"


def choose(*known: KnownFolder, root: str = "/srv/docs", name: str | None = None, gone: tuple[str, ...] = ()) -> Choice:
    return choose_connector(known, root=root, name=name, default_name=DEFAULT, is_gone=lambda path: path in gone)


def test_a_folder_never_seen_gets_the_default_name() -> None:
    assert choose() == Choice(DEFAULT, is_new=True)


def test_a_folder_that_was_synced_before_keeps_its_connector() -> None:
    assert choose(KnownFolder(DEFAULT, "/srv/docs")) == Choice(DEFAULT, is_new=False)


def test_a_folder_synced_under_a_name_of_its_own_is_found_without_the_name() -> None:
    assert choose(KnownFolder("handbook", "/srv/docs")) == Choice("handbook", is_new=False)


def test_the_default_name_wins_among_several_of_one_root() -> None:
    assert choose(KnownFolder("handbook", "/srv/docs"), KnownFolder(DEFAULT, "/srv/docs")).name == DEFAULT


def test_several_named_connectors_of_one_root_must_be_told_apart() -> None:
    with pytest.raises(WrongUsage, match="a, b all have this root"):
        choose(KnownFolder("a", "/srv/docs"), KnownFolder("b", "/srv/docs"))


def test_a_default_name_taken_by_another_root_is_refused() -> None:
    with pytest.raises(WrongUsage, match="choose another --name"):
        choose(KnownFolder(DEFAULT, "/new/docs"))


def test_a_name_follows_its_folder_when_the_old_root_is_gone() -> None:
    choice = choose(KnownFolder("handbook", "/old/docs"), name="handbook", gone=("/old/docs",))
    assert choice.name == "handbook"
    assert not choice.is_new
    assert "moves from /old/docs to /srv/docs" in choice.notes[0]


def test_a_name_stays_where_it_is_while_the_old_root_is_there() -> None:
    with pytest.raises(WrongUsage, match="/old/docs, which is still there"):
        choose(KnownFolder("handbook", "/old/docs"), name="handbook")


def test_a_root_that_only_the_workers_see_moves_nowhere() -> None:
    with pytest.raises(WrongUsage) as refused:
        choose_connector(
            [KnownFolder("handbook", "/documents")],
            root="/data",
            name="handbook",
            default_name=DEFAULT,
            is_gone=lambda _: None,
        )
    assert str(refused.value) == (
        "Connector handbook of this corpus has its root at /documents, and only its workers can see whether that is gone: "
        "give that PATH again, or choose another --name for this folder."
    )


def test_a_root_that_only_the_workers_see_is_not_called_gone() -> None:
    known = [KnownFolder("docs-ffffff", "/old/docs")]
    choice = choose_connector(known, root="/srv/docs", name=None, default_name=DEFAULT, is_gone=lambda _: None)
    assert choice == Choice(DEFAULT, is_new=True)


def test_a_new_name_makes_a_second_connector_of_one_root() -> None:
    assert choose(KnownFolder("handbook", "/srv/docs"), name="second") == Choice("second", is_new=True)


def test_a_vanished_root_of_the_same_base_name_is_named_in_one_sentence() -> None:
    choice = choose(KnownFolder("docs-ffffff", "/old/docs"), gone=("/old/docs",))
    assert choice.name == DEFAULT
    (sentence,) = choice.notes
    assert sentence == (
        "Connector docs-ffffff had its root at /old/docs, which is gone: if this is the same folder, "
        "moved, sync it with --name docs-ffffff instead, and its documents keep their ids."
    )


@pytest.mark.parametrize("known", [KnownFolder("docs-ffffff", "/old/docs"), KnownFolder("x", "/old/other")])
def test_other_folders_that_are_there_or_are_called_differently_are_not_mentioned(known: KnownFolder) -> None:
    assert choose(known, gone=("/old/other",)).notes == ()
