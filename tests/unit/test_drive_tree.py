"""The remembered tree: what reaches a root, where it lies, and what is written of it when a page ends."""

import pytest

from activities.connectors.drive.kinds import Way
from activities.connectors.drive.tree import LOST, ROOT, Due, Node, Tree
from headwater.connectors import Forgotten, Link
from headwater.testing import MemoryInMemory

FOLDER, FILE = Way.FOLDER, Way.DOWNLOAD


def node(name: str, way: Way = FOLDER) -> Node:
    return Node(name, way)


def grown(*places: tuple[str, str]) -> Tree:
    """A tree of folders, each under a parent; a name in capitals is a shortcut."""
    tree = Tree(MemoryInMemory())
    for name, parent in places:
        way = Way.SHORTCUT if name.isupper() else FOLDER
        tree.place(name, node(name, way), [*tree.links(name), parent], due=None)
    return tree


def test_a_way_leads_up_to_a_root_or_it_does_not() -> None:
    tree = grown(
        ("root", ROOT), ("a", "root"), ("b", "a"), ("stray", "nowhere"), ("c", "stray"), ("gone", LOST), ("d", "gone")
    )

    assert [name for name in ("root", "a", "b", "stray", "c", "gone", "d", "unknown") if tree.reaches(name)] == [
        "root",
        "a",
        "b",
    ]


def test_a_cycle_leads_nowhere_and_does_no_harm() -> None:
    tree = grown(("a", "c"), ("b", "a"), ("c", "b"))
    assert not tree.reaches("a") and len(tree.path("a")) == 3

    tree.place("b", node("b"), ["a", ROOT], due=None)
    assert tree.reaches("c")


def test_a_way_through_the_item_itself_does_not_count() -> None:
    tree = grown(("root", ROOT), ("a", "root"), ("b", "a"))

    assert not tree.reaches("b", avoiding="a") and not tree.reaches("a", avoiding="a")
    assert tree.reaches("a", avoiding="b")


def test_a_tree_deeper_than_drive_has_ends() -> None:
    depth = 300
    tree = grown(("0", ROOT), *((str(n), str(n - 1)) for n in range(1, depth)))

    assert tree.reaches("150") and not tree.reaches(str(depth - 1))
    assert len(tree.path(str(depth - 1))) <= 200


@pytest.mark.parametrize("places", [[("x", "S"), ("x", "a")], [("x", "a"), ("x", "S")]])
def test_a_path_does_not_go_through_a_shortcut_if_it_need_not(places: list[tuple[str, str]]) -> None:
    tree = grown(("root", ROOT), ("a", "root"), ("S", "root"), *places)
    assert tree.path("x") == ("root", "a", "x")

    tree.unlink("x", "a")
    assert tree.path("x") == ("root", "x")


def test_a_page_writes_all_of_it_or_nothing() -> None:
    memory = MemoryInMemory()
    memory.write([Link("a", ROOT, node("a").to_record()), Link("b", "a", node("b", FILE).to_record(), due="check")])
    tree = Tree(memory)
    tree.place("b", node("b2", FILE), ["c"], due=None)
    tree.forget("a")
    assert {link.node for link in memory.all_links()} == {"a", "b"}
    assert tree.links("a") == {} and set(tree.links("b")) == {"c"}

    tree.flush()

    assert memory.all_links() == [Link("b", "c", node("b2", FILE).to_record())]


def test_what_is_as_it_was_is_not_written() -> None:
    written: list[Link | Forgotten] = []

    class Counting(MemoryInMemory):
        def write(self, changes: object) -> None:
            written.extend(changes)  # type: ignore[arg-type]  # what it is given
            super().write(changes)  # type: ignore[arg-type]  # likewise

    memory = Counting()
    tree = Tree(memory)
    tree.place("a", node("a"), [ROOT], due=Due.CRAWL)
    tree.flush()
    again = Tree(memory)
    again.place("a", node("a"), [ROOT], due=Due.CRAWL)
    again.mark(again.links("a")[ROOT], Due.CRAWL)
    again.flush()

    assert len(written) == 1


def test_a_record_is_the_same_on_all_links_and_what_is_due_is_not() -> None:
    tree = grown(("root", ROOT))
    tree.place("a", node("a"), ["root", "other"], due={"root": Due.CHECK, "other": Due.CRAWL})
    tree.note("a", node("new"))

    assert {parent: (link.record["name"], link.due) for parent, link in tree.links("a").items()} == {
        "root": ("new", "check"),
        "other": ("new", "crawl"),
    }
    tree.done("a", Due.CRAWL)
    assert [link.due for link in tree.links("a").values()] == ["check", None]


def test_a_node_comes_back_from_its_record() -> None:
    full = Node("n", Way.SHORTCUT, version=7, drive_id="d", access="x", epoch="e", target_id="t")

    assert Node.of(full.to_record()) == full
    assert Node.of(node("n").to_record()) == node("n")


def test_the_levels_above_are_looked_up_together() -> None:
    asked: list[int] = []

    class Counting(MemoryInMemory):
        def links(self, nodes):  # type: ignore[no-untyped-def]  # as in the class above it
            asked.append(len(nodes))
            return super().links(nodes)

    memory = Counting()
    links = [Link("root", ROOT), Link("a", "root"), *(Link(f"f{n}", "a") for n in range(50))]
    memory.write([Link(link.node, link.parent, node(link.node).to_record()) for link in links])
    tree = Tree(memory)

    tree.load(f"f{n}" for n in range(50))
    assert asked == [50, 1, 1]
    assert all(tree.reaches(f"f{n}") for n in range(50)) and asked == [50, 1, 1]
