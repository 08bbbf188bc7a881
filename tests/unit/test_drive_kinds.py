"""How each kind of Drive item is read."""

import pytest

from activities.connectors.drive.kinds import (
    MARKDOWN,
    PDF,
    PPTX,
    TEXT,
    XLSX,
    Kind,
    Way,
    bare,
    exported_name,
    kind_of,
)

GOOGLE = "application/vnd.google-apps."


@pytest.mark.parametrize(
    ("media_type", "kind"),
    [
        ("folder", Kind(Way.FOLDER)),
        ("shortcut", Kind(Way.SHORTCUT)),
        ("document", Kind(Way.EXPORT, (MARKDOWN, TEXT))),
        ("spreadsheet", Kind(Way.EXPORT, (XLSX,))),
        ("presentation", Kind(Way.EXPORT, (PPTX, TEXT))),
        ("drawing", Kind(Way.EXPORT, (PDF,))),
        ("Document; charset=utf-8", Kind(Way.EXPORT, (MARKDOWN, TEXT))),
    ],
)
def test_googles_own_documents_are_exported_in_the_form_that_keeps_most(media_type: str, kind: Kind) -> None:
    assert kind_of(GOOGLE + media_type, name="Plan.pdf") == kind


@pytest.mark.parametrize(
    "kind",
    [
        "form",
        "map",
        "site",
        "jam",
        "fusiontable",
        "script",
        "vid",
        "audio",
        "video",
        "photo",
        "file",
        "unknown",
        "drive-sdk",
        "drive-sdk.12345",
        "somethingnew",
    ],
)
def test_what_cannot_be_exported_as_text_is_unsupported_and_said(kind: str) -> None:
    found = kind_of(GOOGLE + kind, name="notes.txt")
    assert found.way is Way.UNSUPPORTED and found.exports == ()
    assert found.reason.startswith("It is a") and found.reason.endswith("cannot be exported as text.")


@pytest.mark.parametrize(
    ("media_type", "name"),
    [
        ("text/plain", "a.txt"),
        ("application/pdf", "a.pdf"),
        ("application/octet-stream", "a.docx"),
        ("inode/x-empty", "empty"),
        ("application/x-whatever", "table.csv"),
        (None, "a"),
        ("", "a"),
        # declared as what holds no text, by a name that says otherwise
        ("application/zip", "brief.docx"),
        ("image/png", "notes.MD"),
        ("video/mp2t", "index.ts"),
    ],
)
def test_anything_else_is_downloaded_and_looked_at(media_type: str | None, name: str) -> None:
    assert kind_of(media_type, name=name) == Kind(Way.DOWNLOAD)


@pytest.mark.parametrize(
    ("media_type", "name", "what"),
    [
        ("image/png", "a.png", "an image (image/png)"),
        ("Image/SVG+XML; charset=utf-8", "a.svg", "an image (image/svg+xml)"),
        ("audio/mpeg", "talk", "a recording"),
        ("video/mp4", "film.mp4", "a film"),
        ("font/woff2", "a.woff2", "a font"),
        ("application/zip", "all.zip", "an archive"),
        ("application/x-msdownload", "setup.exe", "a program"),
    ],
)
def test_what_holds_no_text_is_not_downloaded_to_find_that_out(media_type: str, name: str, what: str) -> None:
    found = kind_of(media_type, name=name)
    assert found.way is Way.UNSUPPORTED and what in found.reason


def test_an_exported_document_is_named_after_its_form() -> None:
    assert exported_name("Plan.pdf", MARKDOWN) == "Plan.pdf.md"
    assert exported_name("Budget", XLSX) == "Budget.xlsx"
    assert exported_name("Budget", "application/x-new") == "Budget"


def test_a_media_type_is_compared_without_case_and_parameters() -> None:
    assert bare(" Text/Plain ; charset=koi8-r") == "text/plain"
    assert bare(None) == ""
