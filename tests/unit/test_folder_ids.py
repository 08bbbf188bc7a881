"""File names as ids: one-to-one, within the alphabet, within 256 characters."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.connectors.folder_ids import (
    decode_path,
    default_connector_name,
    encode_path,
    id_prefix,
    label,
    path_from_text,
    path_to_text,
    quoted,
    source_id,
)
from headwater.ids import SOURCE_ID, UNSTORABLE, check_scope_part
from headwater.models import Scope

PREFIX = id_prefix("docs-0a1b2c")
SCOPE = Scope.parse("t1/docs/handbook")
HASH = "0123456789abcdef" * 4

components = st.binary(min_size=1, max_size=255).map(lambda name: re.sub(rb"[/\0]", b"_", name))
tricky = st.sampled_from(
    [b"%", b"%25", b"~", b"%7E", b"~" + HASH.encode(), b"%7E" + HASH.encode(), b"a#b", b"a b", b"\xff"]
)
paths = st.lists(components | tricky, min_size=1, max_size=4).map(b"/".join)


@given(paths)
def test_an_encoded_path_can_be_decoded(path: bytes) -> None:
    assert decode_path(encode_path(path)) == path


@given(paths)
def test_a_source_id_keeps_to_its_alphabet_and_length(path: bytes) -> None:
    assert SOURCE_ID.match(source_id(PREFIX, encode_path(path)))


@given(st.sets(paths, min_size=2, max_size=8))
def test_different_files_have_different_ids(several: set[bytes]) -> None:
    assert len({source_id(PREFIX, encode_path(path)) for path in several}) == len(several)


@given(st.sets(st.text("%~7E2.5/a", min_size=1, max_size=6).map(str.encode), min_size=2))
def test_names_that_look_encoded_stay_apart(several: set[bytes]) -> None:
    assert len({encode_path(path) for path in several}) == len(several)


@given(paths)
def test_a_label_can_be_stored(path: bytes) -> None:
    assert not UNSTORABLE.search(label(path))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (b"hr/leave.md", "hr/leave.md"),
        (b"a b#c?.md", "a%20b%23c%3F.md"),
        (b"100%.md", "100%25.md"),
        ("手册.md".encode(), "%E6%89%8B%E5%86%8C.md"),
        (b"caf\xe9.md", "caf%E9.md"),
        (b"two\nlines.md", "two%0Alines.md"),
        (b"~draft.md", "~draft.md"),
        (f"~{HASH}".encode(), f"%7E{HASH}"),
        (f"~{HASH}/x".encode(), f"~{HASH}/x"),
        (f"~{HASH.upper()}".encode(), f"~{HASH.upper()}"),
    ],
)
def test_only_what_is_outside_the_alphabet_is_encoded(path: bytes, expected: str) -> None:
    assert encode_path(path) == expected


def test_an_id_of_256_characters_is_written_out_and_a_longer_one_is_hashed() -> None:
    fits = "a" * (256 - len(PREFIX))
    assert source_id(PREFIX, fits) == PREFIX + fits
    assert re.fullmatch(re.escape(PREFIX) + "~[0-9a-f]{64}", source_id(PREFIX, fits + "a"))


def test_a_file_called_like_a_hashed_id_does_not_take_it() -> None:
    long_id = source_id(PREFIX, encode_path(b"x" * 255 + b"/y.md"))
    lookalike = long_id.removeprefix(PREFIX).encode()
    assert source_id(PREFIX, encode_path(lookalike)) != long_id


def test_a_label_shows_bytes_that_are_no_text_as_a_replacement_character() -> None:
    assert label(b"caf\xe9/menu.md") == "caf�/menu.md"


def test_a_quoted_path_stays_on_one_line_and_keeps_its_end() -> None:
    shown = quoted(b"x" * 300 + b"/a\nb.md", length=20)
    assert "\n" not in shown
    assert shown.endswith("/a\\nb.md'")
    assert len(shown) < 30


@given(paths.map(lambda path: b"/" + path))
def test_a_root_survives_its_way_through_json(root: bytes) -> None:
    text = path_to_text(root)
    assert not UNSTORABLE.search(text)
    assert path_from_text(text) == root


def test_a_root_in_utf_8_is_stored_readably() -> None:
    assert path_to_text("/srv/手册 2024") == "/srv/手册 2024"


class TestDefaultConnectorName:
    def test_it_is_the_base_name_and_six_digits(self, tmp_path: Path) -> None:
        root = tmp_path / "Team Handbook (v2)"
        assert re.fullmatch("Team-Handbook--v2--[0-9a-f]{6}", default_connector_name(SCOPE, str(root)))

    def test_it_is_the_same_for_the_same_folder_however_it_is_reached(self, tmp_path: Path) -> None:
        (tmp_path / "docs").mkdir()
        (tmp_path / "link").symlink_to("docs")
        names = {
            default_connector_name(SCOPE, spelling)
            for spelling in (
                f"{tmp_path}/docs",
                f"{tmp_path}/docs/",
                f"{tmp_path}/link",
                os.fsencode(tmp_path / "docs"),
            )
        }
        assert len(names) == 1

    def test_it_differs_by_corpus_and_by_folder(self, tmp_path: Path) -> None:
        other = Scope.parse("t1/docs/other")
        names = {
            default_connector_name(SCOPE, str(tmp_path / "a/docs")),
            default_connector_name(SCOPE, str(tmp_path / "b/docs")),
            default_connector_name(other, str(tmp_path / "a/docs")),
        }
        assert len(names) == 3

    @pytest.mark.parametrize("root", [b"/", b"/srv/caf\xe9", "/srv/手册".encode(), b"/srv/" + b"x" * 255, b"/srv/..."])
    def test_it_is_always_a_valid_name(self, root: bytes) -> None:
        check_scope_part(default_connector_name(SCOPE, root), "connector")
