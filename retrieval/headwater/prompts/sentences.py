"""Where sentences end, in scripts with spaces and without."""

import re
from typing import Final

# The look-behinds let an end be sought only where a run of marks or spaces begins: a text of 16,000 full stops would else
# take seconds.
_END: Final = re.compile(
    # A full stop within a number, a version or a name (3.5, v1.2, example.org) ends nothing: whitespace must follow it.
    r"(?<![.!?;…])[.!?;…]+[\"'”’»)\]]*\s+"
    # Those of East Asia stand without a space. Closing quotes and brackets belong to the sentence.
    r"|[。！？；．｡]+[」』”’）】》\"')\]]*\s*"
    r"|(?<!\s)\s*\n\s*\n\s*"  # a blank line
    r"|(?<!\s)\s*\n(?=[ \t]*(?:[-*+•|#>]|[0-9]{1,9}[.)]))"  # a line that begins an item, a row or a heading
)


def sentences(text: str) -> list[str]:
    """The sentences of ``text``, each with the whitespace behind it: together they are the text."""
    found, start = list[str](), 0
    for end in _END.finditer(text):
        if text[start : end.end()].strip():
            found.append(text[start : end.end()])
            start = end.end()
    if text[start:].strip() or not found:
        found.append(text[start:])
    else:
        found[-1] += text[start:]
    return found
