"""Office files from their XML, for what no program that writes them does."""

from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT_W = "http://purl.oclc.org/ooxml/wordprocessingml/main"
S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def archive(parts: dict[str, str | bytes]) -> bytes:
    """A ZIP archive of these files."""
    buffer = BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as file:
        for name, data in parts.items():
            file.writestr(name, data)
    return buffer.getvalue()


def relations(*entries: tuple[str, str, str]) -> str:
    """A ``.rels`` part of ``(id, kind, target)``."""
    written = "".join(
        f'<Relationship Id="{id_}" Type="{R}/{kind}" Target="{target}"/>' for id_, kind, target in entries
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{written}</Relationships>'


def content_types(main: str, content_type: str) -> str:
    return (
        f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/{main}" ContentType="{content_type}"/></Types>'
    )


def docx(body: str, *, head: str = "", namespace: str = W, related: dict[str, str] | None = None) -> bytes:
    """A Word document with this XML as its body. ``related``: parts by the kind of their relation."""
    others = related or {}
    return archive(
        {
            "[Content_Types].xml": content_types("word/document.xml", f"{_WORD}.document.main+xml"),
            "_rels/.rels": relations(("rId1", "officeDocument", "word/document.xml")),
            "word/_rels/document.xml.rels": relations(*((kind, kind, f"{kind}.xml") for kind in others)),
            "word/document.xml": (
                f'{head}<w:document xmlns:w="{namespace}" xmlns:r="{R}" xmlns:mc="urn:mc" xmlns:v="urn:v" '
                f'xmlns:wps="urn:wps"><w:body>{body}</w:body></w:document>'
            ),
            **{f"word/{kind}.xml": xml for kind, xml in others.items()},
        }
    )


def wrapped(name: str, content: str) -> str:
    """A part of Word with this root element."""
    return f'<w:{name} xmlns:w="{W}">{content}</w:{name}>'


def p(text: str, *, style: str = "", more: str = "") -> str:
    """A paragraph of Word."""
    named = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{named}<w:r><w:t>{text}</w:t></w:r>{more}</w:p>"


def xlsx(
    *sheets: str, strings: str = "", styles: str = "", names: tuple[str, ...] = ("One", "Two", "Three"), book: str = ""
) -> bytes:
    """A workbook whose tabs have this XML as their rows."""
    entries = [(f"rId{n}", "worksheet", f"worksheets/sheet{n}.xml") for n in range(1, len(sheets) + 1)]
    tabs = "".join(f'<sheet name="{names[n]}" sheetId="{n + 1}" r:id="rId{n + 1}"/>' for n in range(len(sheets)))
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": content_types("xl/workbook.xml", f"{_SHEET}.sheet.main+xml"),
        "_rels/.rels": relations(("rId1", "officeDocument", "xl/workbook.xml")),
        "xl/_rels/workbook.xml.rels": relations(
            *entries, ("rIdS", "sharedStrings", "sharedStrings.xml"), ("rIdF", "styles", "styles.xml")
        ),
        "xl/workbook.xml": f'<workbook xmlns="{S}" xmlns:r="{R}">{book}<sheets>{tabs}</sheets></workbook>',
    }
    for number, rows in enumerate(sheets, start=1):
        parts[f"xl/worksheets/sheet{number}.xml"] = f'<worksheet xmlns="{S}"><sheetData>{rows}</sheetData></worksheet>'
    if strings:
        parts["xl/sharedStrings.xml"] = f'<sst xmlns="{S}">{strings}</sst>'
    if styles:
        parts["xl/styles.xml"] = f'<styleSheet xmlns="{S}">{styles}</styleSheet>'
    return archive(parts)
