"""Which connector a folder on the command line means: a new one, a known one, or one whose folder was moved."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workers.cli.errors import WrongUsage


@dataclass(frozen=True)
class KnownFolder:
    """A folder connector of the corpus."""

    name: str
    root: str


@dataclass(frozen=True)
class Choice:
    """The connector to sync. ``notes`` are sentences for the person who asked."""

    name: str
    is_new: bool
    notes: tuple[str, ...] = ()


def choose_connector(
    known: Sequence[KnownFolder],
    *,
    root: str,
    name: str | None,
    default_name: str,
    is_gone: Callable[[str], bool | None],
) -> Choice:
    """The connector that ``root`` belongs to. Raises `WrongUsage` where two folders would share one name.

    ``is_gone`` returns None where that cannot be seen from here: a root is then never taken for gone, because a pass over
    another folder would delete all of its documents.
    """
    if name is None:
        return _unnamed(known, root=root, default_name=default_name, is_gone=is_gone)
    for folder in known:
        if folder.name != name:
            continue
        if folder.root == root:
            return Choice(name, is_new=False)
        gone = is_gone(folder.root)
        if gone:
            return Choice(name, is_new=False, notes=(f"Connector {name} moves from {folder.root} to {root}.",))
        if gone is None:
            raise WrongUsage(
                f"Connector {name} of this corpus has its root at {folder.root}, and only its workers can see whether that "
                "is gone: give that PATH again, or choose another --name for this folder."
            )
        raise WrongUsage(
            f"Connector {name} of this corpus has its root at {folder.root}, which is still there: "
            "choose another --name for this folder."
        )
    return Choice(name, is_new=True)


def _unnamed(
    known: Sequence[KnownFolder], *, root: str, default_name: str, is_gone: Callable[[str], bool | None]
) -> Choice:
    same_root = [folder.name for folder in known if folder.root == root]
    if default_name in same_root:
        return Choice(default_name, is_new=False)
    # A moved or a named connector goes on: a second one would hold every document twice.
    if len(same_root) == 1:
        return Choice(same_root[0], is_new=False)
    if same_root:
        raise WrongUsage(f"Connectors {', '.join(same_root)} all have this root: say which with --name.")
    for folder in known:
        if folder.name == default_name:
            raise WrongUsage(
                f"Connector {default_name} of this corpus has its root at {folder.root}: choose another --name for this folder."
            )
    return Choice(default_name, is_new=True, notes=_moved_perhaps(known, root=root, is_gone=is_gone))


def _moved_perhaps(
    known: Sequence[KnownFolder], *, root: str, is_gone: Callable[[str], bool | None]
) -> tuple[str, ...]:
    base = root.rstrip("/").rpartition("/")[2]
    for folder in known:
        if folder.root.rstrip("/").rpartition("/")[2] == base and is_gone(folder.root):
            sentence = (
                f"Connector {folder.name} had its root at {folder.root}, which is gone: if this is the same folder, "
                f"moved, sync it with --name {folder.name} instead, and its documents keep their ids."
            )
            return (sentence,)
    return ()
