"""How passages that were found are shown to a person: where each stands, how well it fits, and its text."""

from typing import Final

from rich.text import Text

from headwater.models import Hit, RetrievalResult
from workers.cli.console import Output, one_line, printable

INDENT: Final = "   "
HEADING_MAX: Final = 200  # characters of a title; a document may have any


def show(output: Output, result: RetrievalResult) -> None:
    """The passages for a person, best first."""
    corpora = {(hit.provenance.resource_id, hit.provenance.corpus_id) for hit in result.hits}
    for number, hit in enumerate(result.hits, start=1):
        output.out.print(_heading(hit, number), soft_wrap=True)
        where = hit.provenance
        of = f"  {where.tenant_id}/{where.resource_id}/{where.corpus_id}" if len(corpora) > 1 else ""
        output.out.print(Text(f"{INDENT}[{printable(where.citation_id)}]{of}", "dim"), soft_wrap=True)
        for line in printable(hit.text).splitlines():
            for part in _folded(output, line):
                output.out.print(Text(INDENT) + part, soft_wrap=True)
        output.out.print()
    if result.truncated:
        output.note("Some passages were left out: the answer would have been too long.")


def _heading(hit: Hit, number: int) -> Text:
    title, place = one_line(hit.title or hit.source_id), one_line(hit.locator or "")
    # Most documents begin with their title as a heading: the place then says it already.
    names_itself = place == title or place.startswith(f"{title} › ")
    return Text.assemble(
        (f"{number}. ", "bold"),
        (_short(title), "bold"),
        (_short(place.removeprefix(title) if names_itself else f"  {place}" if place else ""), "cyan"),
        (f"  similarity {hit.score:.3f}{_words(hit)}", "dim"),
    )


def _words(hit: Hit) -> str:
    """How well the question's words match, of whichever kind that is; nothing where there are none of them."""
    return f", words {hit.scores.lexical:.3g}" if hit.scores.lexical else ""


def _short(text: str) -> str:
    return text if len(text) <= HEADING_MAX else f"{text[: HEADING_MAX - 1]}…"


def _folded(output: Output, line: str) -> list[Text]:
    """``line`` in parts that fit beside the indentation; a pipe gets it whole."""
    whole = Text(line)
    return list(whole.wrap(output.out, output.out.width - len(INDENT))) if output.out.is_terminal else [whole]
