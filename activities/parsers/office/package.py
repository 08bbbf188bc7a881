"""An office file as the archive it is: its parts, read within a budget, and how they refer to each other.

What an archive unpacks to is not known before it is unpacked, and XML can name more than it holds. So a part is never
held whole: it is read event by event, every byte of it counts, and a document type declaration, which no office program
writes, ends the reading.
"""

import posixpath
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final, Protocol, cast
from zipfile import BadZipFile, LargeZipFile, ZipFile

from lxml import etree

UNPACKED_MAX: Final = 256 << 20
PARTS_MAX: Final = 65_536
_PIECE: Final = 65_536


class Damaged(Exception):
    """The file, or one of its parts, is not what it should be. ``str(error)`` holds nothing of the document."""


class Encrypted(Exception):
    """A part is encrypted."""


class TooMuch(Exception):
    """The parts unpack to more than the budget."""


class Visitor(Protocol):
    """What is told of a part. Names come without their namespace: two standards differ in nothing else."""

    def start(self, name: str, attributes: Mapping[str, str]) -> None: ...
    def data(self, text: str) -> None: ...
    def end(self, name: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Relation:
    """What a part refers to: ``kind`` as ``notesSlide``, ``part`` as the name of another part."""

    kind: str
    part: str


class Package:
    """The parts of one file."""

    def __init__(self, data: bytes, *, unpacked_max: int = UNPACKED_MAX) -> None:
        self._left = unpacked_max
        try:
            self._archive = ZipFile(BytesIO(data))
        except (BadZipFile, LargeZipFile, OSError, ValueError, NotImplementedError) as error:
            raise Damaged(f"its archive cannot be opened ({type(error).__name__})") from error
        entries = self._archive.infolist()
        if len(entries) > PARTS_MAX:
            raise TooMuch
        self._entries = {_key(entry.filename): entry for entry in entries}

    def has(self, part: str) -> bool:
        return _key(part) in self._entries

    def visit(self, part: str, visitor: Visitor) -> None:
        """Tell ``visitor`` of all that the part holds. Raises `Damaged`, `Encrypted` or `TooMuch`, also half-way."""
        entry = self._entries.get(_key(part))
        if entry is None:
            raise Damaged("a part of it is missing")
        if entry.flag_bits & 1:
            raise Encrypted
        # A target gets what it has methods for; the stubs ask for all of them.
        parser = etree.XMLParser(
            target=cast(Any, _Target(visitor)), resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
        )
        try:
            with self._archive.open(entry) as file:
                while piece := file.read(_PIECE):
                    self._left -= len(piece)
                    if self._left < 0:
                        raise TooMuch
                    parser.feed(piece)
            parser.close()
        except etree.XMLSyntaxError as error:
            raise Damaged("a part of it is no XML") from error
        except (BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError) as error:
            raise Damaged(f"a part of it cannot be unpacked ({type(error).__name__})") from error

    def relations(self, part: str = "") -> dict[str, Relation]:
        """What ``part``, or the file itself, refers to within the file, by relation id."""
        folder, name = posixpath.split(part)
        where = posixpath.join(folder, "_rels", f"{name}.rels")
        found = _Relations(folder)
        if self.has(where):
            self.visit(where, found)
        return found.relations

    def related(self, part: str, kind: str) -> list[str]:
        """The parts of a kind that ``part`` refers to, each once, as far as they are there."""
        parts = [relation.part for relation in self.relations(part).values() if relation.kind == kind]
        return [name for name in dict.fromkeys(parts) if self.has(name)]

    def content_type(self, part: str) -> str:
        """What the file says the part is; empty if nothing."""
        types = _ContentTypes()
        self.visit("[Content_Types].xml", types)
        return types.of(part)


def local(name: str) -> str:
    """A name without its namespace."""
    return name.rpartition("}")[2]


def attribute(attributes: Mapping[str, str], name: str) -> str | None:
    """The value of an attribute, whatever its namespace, but rather one without."""
    plain = attributes.get(name)
    if plain is not None:
        return plain
    return next((value for key, value in attributes.items() if local(key) == name), None)


def relation_id(attributes: Mapping[str, str], name: str = "id") -> str | None:
    """The value of ``r:id``, which may stand beside an ``id`` of another meaning."""
    return next((value for key, value in attributes.items() if key.endswith(f"}}{name}")), None)


def _key(part: str) -> str:
    """Names of parts are compared without case, and some programs write backslashes."""
    return part.replace("\\", "/").lstrip("/").lower()


class _Target:
    """What lxml drives: it builds no tree, so a part costs its text and no more."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor
        self._names: dict[str, str] = {}

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._visitor.start(self._local(tag), attributes)

    def end(self, tag: str) -> None:
        self._visitor.end(self._local(tag))

    def data(self, text: str) -> None:
        self._visitor.data(text)

    def doctype(self, _name: str, _public: str | None, _system: str | None) -> None:
        raise Damaged("it declares a document type, which no office program does")

    def close(self) -> None:
        pass

    def _local(self, tag: str) -> str:
        known = self._names.get(tag)
        if known is None:
            known = local(tag)
            if len(self._names) < 1_024:
                self._names[tag] = known
        return known


class _Attributes:
    """A visitor of parts that are lists of attributes."""

    def data(self, text: str) -> None: ...

    def end(self, name: str) -> None: ...


class _Relations(_Attributes):
    def __init__(self, folder: str) -> None:
        self.relations: dict[str, Relation] = {}
        self._folder = folder

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        target = attributes.get("Target", "")
        if name != "Relationship" or attributes.get("TargetMode") == "External" or not target:
            return
        part = posixpath.normpath(posixpath.join("/", self._folder, target)).lstrip("/")
        self.relations[attributes.get("Id", "")] = Relation(attributes.get("Type", "").rpartition("/")[2], part)


class _ContentTypes(_Attributes):
    def __init__(self) -> None:
        self._by_part: dict[str, str] = {}
        self._by_extension: dict[str, str] = {}

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        content_type = attributes.get("ContentType", "")
        if name == "Override":
            self._by_part[_key(attributes.get("PartName", ""))] = content_type
        elif name == "Default":
            self._by_extension[attributes.get("Extension", "").lower()] = content_type

    def of(self, part: str) -> str:
        by_extension = self._by_extension.get(part.rpartition(".")[2].lower(), "")
        return self._by_part.get(_key(part), by_extension)
