"""Globs on relative paths, as a regular expression that takes linear time whatever a file is called.

``*`` and ``?`` stay within a component, ``**`` between slashes is any number of components, ``[a-z]`` and ``[!a-z]``
are classes. Each ``*`` and each inner ``**`` is settled by its leftmost match, in an atomic group: for globs that is
complete, and a file name made for the purpose cannot make the matcher backtrack.
"""

import re

from headwater.errors import ValidationError
from headwater.ids import UNSTORABLE


def compile_glob(glob: str) -> re.Pattern[str]:
    """A pattern for `re.Pattern.fullmatch`. Raises `ValidationError` with the reason a glob is none."""
    _check(glob)
    runs: list[list[str]] = [[]]  # the components between one `**` and the next
    for component in glob.split("/"):
        if component != "**":
            runs[-1].append(_component(component, glob))
        elif len(runs) == 1 or runs[-1]:  # `**/**` is `**`
            runs.append([])
    first, *rest = ["/".join(run) for run in runs]
    if not rest:
        return re.compile(first, re.DOTALL)
    *inner, last = rest
    pattern = f"{first}/" if first else ""
    pattern += "".join(f"(?>(?:[^/]+/)*?{run}/)" for run in inner)
    pattern += f"(?:[^/]+/)*{last}" if last else ".+"
    return re.compile(pattern, re.DOTALL)


def _check(glob: str) -> None:
    if not glob:
        raise ValidationError('A path is empty: write "**" for every file.')
    if UNSTORABLE.search(glob):
        raise ValidationError(f"The path {glob!r} holds NUL or a lone surrogate, which no file name does.")
    if "\\" in glob:
        raise ValidationError(f"The path {glob!r} holds a backslash: write / between folders.")
    components = glob.split("/")
    if components[-1] == "" and len(components) > 1:
        raise ValidationError(f'The path {glob!r} ends with a slash: write "{glob}**" for everything in the folder.')
    if any(component in ("", ".", "..") for component in components):
        raise ValidationError(f"The path {glob!r} can match nothing: paths are relative, without empty, . or .. parts.")
    if any("**" in component and component != "**" for component in components):
        raise ValidationError(f'In the path {glob!r}, "**" must stand alone between slashes, as in "**/*.md".')


def _component(text: str, glob: str) -> str:
    """One component between slashes: its pieces between stars, each found as far left as it goes."""
    pieces = [""]
    at = 0
    while at < len(text):
        character = text[at]
        at += 1
        if character == "*":
            pieces.append("")
        elif character == "?":
            pieces[-1] += "[^/]"
        elif character == "[":
            end = text.find("]", at + 2 if text[at : at + 1] in ("!", "^") else at + 1)
            if end < 0:
                raise ValidationError(f'In the path {glob!r}, a "[" is not closed: write "[[]" for the character.')
            pieces[-1] += _character_class(text[at:end], glob)
            at = end + 1
        else:
            pieces[-1] += re.escape(character)
    if len(pieces) == 1:
        return pieces[0]
    first, *inner, last = pieces
    return first + "".join(f"(?>[^/]*?{piece})" for piece in inner) + f"[^/]*{last}"


def _character_class(body: str, glob: str) -> str:
    is_negated = body[0] in "!^"
    rest = body[1:] if is_negated else body
    members = ""
    while rest:
        if rest[1:2] == "-" and len(rest) > 2:
            low, high, rest = rest[0], rest[2], rest[3:]
            if low > high:
                raise ValidationError(f"In the path {glob!r}, the range {low}-{high} runs backwards.")
            members += f"{re.escape(low)}-{re.escape(high)}"
        else:
            members += re.escape(rest[0])
            rest = rest[1:]
    return f"(?!/)[{'^' if is_negated else ''}{members}]"  # a range such as [+-9] holds the slash
