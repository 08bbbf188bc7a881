"""Globs of access rules: what they match, what is refused, and that no file name makes them slow."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.connectors.path_glob import compile_glob
from headwater.errors import ValidationError


def matches(glob: str, path: str) -> bool:
    return compile_glob(glob).fullmatch(path) is not None


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("**", "a.md"),
        ("**", "a/b/c.md"),
        ("hr/**", "hr/a.md"),
        ("hr/**", "hr/a/b.md"),
        ("**/x.md", "x.md"),
        ("**/x.md", "a/b/x.md"),
        ("a/**/z.md", "a/z.md"),
        ("a/**/z.md", "a/b/c/z.md"),
        ("**/hr/**", "hr/a.md"),
        ("**/hr/**", "x/hr/y/a.md"),
        ("a/**/b/**/c", "a/x/b/b/y/c"),
        ("**/**/a", "a"),
        ("*.md", "a.md"),
        ("*", "two\nlines"),
        ("*a*b*", "xaxbx"),
        ("?.md", "é.md"),
        ("?.md", "�.md"),
        ("[a-c]x", "bx"),
        ("[!a-c]x", "dx"),
        ("[^a-c]x", "dx"),
        ("[]]", "]"),
        ("[[]a", "[a"),
        ("[a-]", "-"),
        ("[*?]", "*"),
        ("[&&~~||]", "&"),
        ("{a,b}", "{a,b}"),
        ("a+(b).md", "a+(b).md"),
    ],
)
def test_it_matches(glob: str, path: str) -> None:
    assert matches(glob, path)


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("hr/**", "hr"),
        ("hr/**", "hrx/a.md"),
        ("hr/**", "x/hr/a.md"),
        ("hr/**", "HR/a.md"),
        ("*.md", "a/b.md"),
        ("*", "a/b"),
        ("a?b", "a/b"),
        ("a[+-9]b", "a/b"),
        ("a[!x]b", "a/b"),
        ("**/x.md", "xx.md"),
        ("a/**/z.md", "a/bz.md"),
        ("*.md", "a.md\n"),
        ("a", "a\n"),
        ("a.md", "axmd"),
        ("{a,b}", "a"),
    ],
)
def test_it_does_not_match(glob: str, path: str) -> None:
    assert not matches(glob, path)


@pytest.mark.parametrize(
    ("glob", "advice"),
    [
        ("", 'write "**"'),
        ("/hr/**", "paths are relative"),
        ("a//b", "paths are relative"),
        ("./a", "paths are relative"),
        ("a/../b", "paths are relative"),
        ("hr/", 'write "hr/**"'),
        ("hr\\**", "write / between folders"),
        ("**.md", "must stand alone"),
        ("hr**", "must stand alone"),
        ("[ab", "is not closed"),
        ("[]", "is not closed"),
        ("a[b/c]d", "is not closed"),
        ("[z-a]", "runs backwards"),
        ("a\0b", "NUL"),
        ("a\ud800b", "surrogate"),
    ],
)
def test_it_is_refused_with_advice(glob: str, advice: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(advice)):
        compile_glob(glob)


def naive(glob: list[str], path: list[str]) -> bool:
    """The definition, tried every way."""
    if not glob:
        return not path
    if glob[0] == "**":
        if len(glob) == 1:
            return bool(path)
        return any(naive(glob[1:], path[skip:]) for skip in range(len(path) + 1))
    return bool(path) and naive_component(glob[0], path[0]) and naive(glob[1:], path[1:])


def naive_component(glob: str, name: str) -> bool:
    if not glob:
        return not name
    if glob[0] == "*":
        return any(naive_component(glob[1:], name[skip:]) for skip in range(len(name) + 1))
    return bool(name) and glob[0] in (name[0], "?") and naive_component(glob[1:], name[1:])


pieces = st.text("ab*?", min_size=1, max_size=5).filter(lambda text: "**" not in text) | st.just("**")
globs = st.lists(pieces, min_size=1, max_size=5)
names = st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=6)


@given(globs.filter(lambda parts: ["**", "**"] not in [parts[n : n + 2] for n in range(len(parts))]), names)
def test_it_matches_what_the_definition_says(glob: list[str], path: list[str]) -> None:
    assert matches("/".join(glob), "/".join(path)) == naive(glob, path)


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("*-*-*-*-*-*-*-*-*.md", "-" * 250),
        ("**/-/**/-/**/-/**/-/**/x.md", "/".join("-" * 500)),
        ("**/*-*-*/**/*-*-*/**/x.md", "/".join(["-" * 50] * 40)),
    ],
)
def test_a_file_name_cannot_make_it_slow(glob: str, path: str) -> None:
    pattern = compile_glob(glob)
    started = time.process_time()
    assert pattern.fullmatch(path) is None
    assert time.process_time() - started < 0.5  # with backtracking: minutes to centuries
