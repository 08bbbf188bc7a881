"""What the demo decides: which documents it asks, what it quotes, and above all what it deletes."""

import os
from pathlib import Path

import pytest

from tests.demo.failure import DemoFailure
from tests.demo.handbook import sentence_with
from tests.demo.own_folder import Titled, question_about, worth_asking
from tests.demo.workplace import LOCK, empty_workplace, forget, home_in, is_lent
from workers.guard.home import Home
from workers.guard.place import lent_folder


class Lent:
    """A demo's workplace whose home was lent a folder elsewhere, and another home's beside that."""

    def __init__(self, folder: Path) -> None:
        self.shared = folder / "shared"
        self.workplace = folder / "workplace"
        self.home = home_in(self.workplace)
        with empty_workplace(self.workplace, shared=self.shared):
            pass
        self.ours = lent_folder(Home(self.home), self.shared)
        self.former = self.ours.with_name(self.ours.name + ".former")
        self.theirs = self.shared / ("0" * 16)
        self.precious = folder / "precious"
        for place in (self.ours, self.former, self.theirs, self.precious):
            (place / "postgres").mkdir(parents=True)
            (place / "postgres/PG_VERSION").write_text("16\n")
        self.record = Home(self.home).location
        self.record.write_text(f"{self.ours}/postgres")

    def forget(self) -> None:
        forget(self.workplace, shared=self.shared)

    def left(self) -> list[Path]:
        places = (self.workplace, self.ours, self.former, self.theirs, self.precious)
        assert all((place / "postgres/PG_VERSION").exists() for place in places[1:] if place.is_dir())
        return [place for place in places if place.exists()]


@pytest.fixture
def lent(tmp_path: Path) -> Lent:
    return Lent(tmp_path)


def test_all_of_a_demo_is_deleted_and_nothing_else(lent: Lent) -> None:
    (lent.shared / "programs-0123456789abcdef").mkdir()
    lent.forget()

    assert lent.left() == [lent.theirs, lent.precious]
    assert (lent.shared / "programs-0123456789abcdef").exists()
    lent.forget()  # there is nothing left, and that is fine


def test_the_next_demo_begins_with_deleting_the_one_before(lent: Lent) -> None:
    with empty_workplace(lent.workplace, shared=lent.shared):
        assert lent.left() == [lent.workplace, lent.theirs, lent.precious]
        assert sorted(entry.name for entry in lent.workplace.iterdir()) == [LOCK, "home"]
        assert list(lent.home.iterdir()) == []


@pytest.mark.parametrize(
    "told",
    [
        "",
        "/",
        ".",
        "postgres",
        "/postgres",
        "{precious}/postgres",
        "{precious}",
        "{theirs}/postgres",
        "{shared}/postgres",
        "{ours}/../../precious/postgres",
        "{ours}/../{theirs_name}/postgres",
        "{ours}/postgres\n{precious}/postgres",
        "{ours}/postgres/",
        "{ours}/postgr",
        "{former}/postgres",
        "\0",
        "\udcff\udcfe",
    ],
)
def test_what_the_record_says_is_never_followed(lent: Lent, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    places = {name: getattr(lent, name) for name in ("precious", "theirs", "shared", "ours", "former")}
    lent.record.write_bytes(os.fsencode(told.format(**places, theirs_name=lent.theirs.name)))
    lent.forget()

    assert lent.left() == [lent.ours, lent.former, lent.theirs, lent.precious]
    assert "is not followed" in capsys.readouterr().err


def test_a_record_that_is_no_file_is_not_read(lent: Lent) -> None:
    lent.record.unlink()
    os.mkfifo(lent.record)  # reading it would wait for ever
    lent.forget()

    assert lent.left() == [lent.ours, lent.former, lent.theirs, lent.precious]


def test_a_home_that_is_a_link_is_not_the_demos(lent: Lent, tmp_path: Path) -> None:
    real = tmp_path / "real"
    lent.home.rename(real)
    lent.home.symlink_to(real)
    reals = lent_folder(Home(lent.home), lent.shared)
    lent.ours.rename(reals)
    (real / "postgres.location").write_text(f"{reals}/postgres")
    lent.forget()

    assert not lent.workplace.exists()
    assert (real / "postgres.location").exists()
    assert (reals / "postgres/PG_VERSION").exists()


def test_a_workplace_that_was_moved_takes_nobodys_data_along(lent: Lent, tmp_path: Path) -> None:
    moved = lent.workplace.rename(tmp_path / "moved")
    forget(moved, shared=lent.shared)

    assert not moved.exists()
    assert lent.left() == [lent.ours, lent.former, lent.theirs, lent.precious]


def test_what_is_in_the_place_of_the_data_must_look_like_them(lent: Lent, capsys: pytest.CaptureFixture[str]) -> None:
    (lent.ours / "holiday.jpg").write_text("precious")
    lent.former.rename(lent.former.with_name("kept"))
    lent.former.symlink_to(lent.precious)
    lent.forget()

    assert (lent.ours / "holiday.jpg").exists()
    assert (lent.precious / "postgres/PG_VERSION").exists()
    assert capsys.readouterr().err.count("it is left alone") == 2


@pytest.mark.parametrize(
    "name",
    [
        ".",
        "..",
        "",
        "0" * 15,
        "0" * 17,
        "g" * 16,
        "A" * 16,
        "0" * 16 + ".former.former",
        "0" * 16 + "\n",
        "programs-" + "0" * 16,
    ],
)
def test_only_a_name_that_root_gives_is_one(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    (folder / "postgres").mkdir(parents=True)

    assert not is_lent(folder, shared=tmp_path)


def test_a_lent_folder_lies_where_root_puts_it(tmp_path: Path) -> None:
    (tmp_path / "deeper" / ("0" * 16) / "postgres").mkdir(parents=True)
    (tmp_path / ("0" * 16) / "postgres.123.new").mkdir(parents=True)

    assert is_lent(tmp_path / ("0" * 16), shared=tmp_path)
    assert not is_lent(tmp_path / "deeper" / ("0" * 16), shared=tmp_path)
    assert not is_lent(tmp_path / "deeper" / ".." / ("0" * 16), shared=tmp_path)


@pytest.mark.parametrize("mark", [None, "link", "folder"])
def test_a_folder_that_no_demo_made_is_never_emptied(tmp_path: Path, mark: str | None) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    if mark == "link":
        (tmp_path / LOCK).symlink_to(tmp_path / "thesis.txt")
    elif mark == "folder":
        (tmp_path / LOCK).mkdir()
    with pytest.raises(DemoFailure, match="no demo made"), empty_workplace(tmp_path, shared=tmp_path):
        pass
    with pytest.raises(DemoFailure, match="no demo made"):
        forget(tmp_path, shared=tmp_path)

    assert (tmp_path / "thesis.txt").read_text() == "precious"


def test_links_in_a_workplace_are_unlinked_and_not_followed(lent: Lent) -> None:
    (lent.workplace / "handbook").symlink_to(lent.precious)
    (lent.home / "postgres").symlink_to(lent.precious)
    lent.forget()

    assert lent.left() == [lent.theirs, lent.precious]


def titled(path: str, title: str | None = None) -> Titled:
    return Titled(f"folder:x/{path}", path, title or path.rpartition("/")[2])


def test_documents_with_a_real_title_are_asked_first_and_far_apart() -> None:
    documents = [titled(f"{folder}/{number}.md", f"About {folder} {number}") for folder in "abc" for number in (1, 2)]
    asked = worth_asking([titled("a/handbook.txt"), *documents])

    assert [document.path for document in asked[:3]] == ["a/1.md", "b/1.md", "c/1.md"]
    assert asked[-1] == titled("a/handbook.txt")
    assert len(asked) == 7


def test_titles_that_say_nothing_or_that_several_bear_are_not_asked() -> None:
    documents = [
        titled("1.md", "Notes"), titled("2.md", "notes"), titled("3.md", "2026"), titled("4.md", "x" * 101),
        titled("5.md", "The lease"),
    ]  # fmt: skip

    assert [document.path for document in worth_asking(documents)] == ["5.md"]


def test_a_document_without_a_title_goes_by_its_files_name() -> None:
    assert titled("people/bicycle-scheme_2026.txt").called == "bicycle scheme 2026"
    assert not titled("people/leave.md").has_real_title
    assert titled("people/leave.md", "Leave").called == "Leave"


@pytest.mark.parametrize(
    ("title", "question"),
    [
        ("The lease", "What is said about The lease?"),
        ("Rules.", "What is said about Rules?"),
        ("How do I log in?", "How do I log in?"),
    ],
)
def test_a_title_becomes_a_question(title: str, question: str) -> None:
    assert question_about(title) == question


def test_a_changed_sentence_is_quoted_with_its_citation() -> None:
    hits = [
        {"text": "Other.", "provenance": {"citation_id": "a"}},
        {"text": "First. Then remove\nthe sand, at once. Last.", "provenance": {"citation_id": "b"}},
    ]

    assert sentence_with("remove the sand", hits) == "Then remove the sand, at once. [b]"
    assert sentence_with("nowhere", hits) is None
