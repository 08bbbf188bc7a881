"""The contract test of memories: what a connector relies on when it looks up what it remembered."""

from collections.abc import Sequence

from headwater.connectors import Forgotten, Link, Memory
from headwater.errors import ValidationError

_ROOT = Link("root", "", {"name": "Docs"})
_NOTE = Link("note", "root", {"name": "ümlaut \\ 😀", "parents": ["root"], "size": 12, "shared": None})
_HERE, _THERE = Link("both", "root", {"name": "both"}), Link("both", "far", {"name": "both"}, due="crawl")


def check_memory(memory: Memory) -> None:
    """Raises `AssertionError` with one sentence at the first promise that ``memory`` breaks. It must be empty at first."""
    _require(not memory.links(["root"]) and not memory.due(limit=1), "An empty memory must remember nothing.")
    memory.write([_ROOT, _NOTE, _HERE, _THERE])
    _check_links(memory)
    _check_children(memory)
    _check_due(memory)
    _check_forgetting(memory)
    _check_refusals(memory)
    memory.write([Forgotten()])
    _require(not memory.links(["root", "both", "note"]), "Forgetting without a node must forget everything.")


def _check_links(memory: Memory) -> None:
    found = memory.links(["note", "both", "nobody"])
    _require(list(found.get("note", ())) == [_NOTE], "A link must come back as it was written.")
    _require(list(found.get("both", ())) == [_THERE, _HERE], "All links of a node must be found, in order of parents.")
    _require("nobody" not in found, "A node without a link must be missing.")
    changed = Link("note", "root", {"name": "new"})
    memory.write([changed])
    _require(list(memory.links(["note"])["note"]) == [changed], "A link must take the place of the one before it.")


def _check_children(memory: Memory) -> None:
    memory.write([Link(node, "many") for node in ("é", "b", "B", "a😀", "a", "c")])
    _require(
        _nodes(memory.children("many", limit=9)) == ["B", "a", "a😀", "b", "c", "é"], "Children must be in byte order."
    )
    pages, after = list[str](), ""
    while page := _nodes(memory.children("many", after=after, limit=2)):
        _require(len(page) <= 2, "There must be at most as many children as were asked for.")
        pages, after = pages + page, page[-1]
    _require(pages == ["B", "a", "a😀", "b", "c", "é"], "Pages of children must hold each of them once.")
    memory.write([Forgotten("a", "many"), Link("aa", "many")])
    _require(
        _nodes(memory.children("many", after="B", limit=2)) == ["aa", "a😀"], "What is written must be seen at once."
    )
    _require(not memory.children("nobody", limit=3), "A parent without children must have none.")


def _check_due(memory: Memory) -> None:
    _require(list(memory.due(limit=5)) == [_THERE], "A link with something due must be found, and no other.")
    memory.write([Link("a", "due", due="drop"), Link("z", "due", due="crawl")])
    _require(_nodes(memory.due(limit=2)) == ["a", "both"], "What is due must be in byte order of the node.")
    memory.write([Link("a", "due"), Forgotten("z")])
    _require(list(memory.due(limit=5)) == [_THERE], "What is done or forgotten must not be due.")


def _check_forgetting(memory: Memory) -> None:
    memory.write([Forgotten("both", "far")])
    _require(list(memory.links(["both"])["both"]) == [_HERE], "Only the link under the parent must be forgotten.")
    memory.write([_THERE, Forgotten("both")])
    _require("both" not in memory.links(["both"]), "Without a parent all links of a node must be forgotten.")
    memory.write([Forgotten("both"), _HERE])
    _require(list(memory.links(["both"])["both"]) == [_HERE], "Changes must be carried out in their order.")


def _check_refusals(memory: Memory) -> None:
    for wrong in (
        Link("", "root"),
        Link("x\x00", "root"),
        Link("x", "root", {"name": "a\ud800"}),
        Link("x", "r", {"a": b""}),
    ):
        try:
            memory.write([wrong])
        except ValidationError:
            continue
        raise AssertionError("What no memory can keep must be a ValidationError when it is written.")


def _nodes(links: Sequence[Link]) -> list[str]:
    return [link.node for link in links]


def _require(is_kept: bool, promise: str) -> None:
    if not is_kept:
        raise AssertionError(promise)
