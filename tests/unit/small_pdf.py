"""PDFs as small as they get, made by hand so that a test can damage them in one place."""

from collections.abc import Sequence

HELVETICA = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"


def words(text: str) -> bytes:
    """The content of a page that shows ``text``, which must be Latin-1."""
    escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return b"BT /F1 12 Tf 72 700 Td (" + escaped.encode("cp1252") + b") Tj ET"


def make_pdf(
    pages: Sequence[bytes],
    *,
    font: bytes = HELVETICA,
    stream_keys: bytes = b"",
    resources: bytes = b"",
    info: bytes = b"",
) -> bytes:
    """A PDF of pages with these contents. ``stream_keys`` names filters, ``resources`` more resources of each page."""
    bodies = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[%s]>>"
        % (len(pages), b" ".join(b"%d 0 R" % (5 + 2 * n) for n in range(len(pages)))),
        font,
        b"<<%s>>" % info,
    ]
    for number, content in enumerate(pages):
        bodies.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents %d 0 R/Resources<</Font<</F1 3 0 R>>%s>>>>"
            % (6 + 2 * number, resources)
        )
        bodies.append(b"<</Length %d%s>>stream\n%s\nendstream" % (len(content), stream_keys, content))
    file = bytearray(b"%PDF-1.7\n")
    offsets: list[int] = []
    for number, body in enumerate(bodies, 1):
        offsets.append(len(file))
        file += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    start = len(file)
    file += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(bodies) + 1, table)
    file += b"trailer<</Size %d/Root 1 0 R/Info 4 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(bodies) + 1, start)
    return bytes(file)
