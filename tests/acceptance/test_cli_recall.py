"""`headwater doctor --recall`: how much of the nearest a corpus's search finds."""

from pathlib import Path

from tests.acceptance.command_line import CommandLine, files

CORPUS = "t1/docs/recalled"


def test_a_corpus_is_asked_for_those_who_may_read_it(up: CommandLine, tmp_path: Path) -> None:
    folder = files(tmp_path / "docs", {f"{number}.md": f"# Part {number}\n\nThe text of it.\n" for number in range(12)})
    up.json_here("sync", "folder", folder, "--corpus", CORPUS, "--grant", "user:alice", "--grant", "group:staff")
    questions = tmp_path / "questions.txt"
    questions.write_text("What does the first part say?\nAnd the second?\n")

    asked = up.json_here("doctor", "--recall", CORPUS)
    assert asked["ok"] is True and asked["corpus"] == CORPUS
    assert {reader["reader"] for reader in asked["readers"]} == {"alice (12 sources)", "group staff (12 sources)"}
    for reader in asked["readers"]:
        assert (reader["recall"], reader["worst"], reader["short"]) == (1.0, 1.0, 0), "a small corpus is compared whole"
        assert reader["questions"] == 12 and 0 < reader["p50_ms"] <= reader["p95_ms"]

    only = up.json_here("doctor", "--recall", CORPUS, "--as", "bob", "--group", "staff", "--queries", questions)
    assert [(reader["reader"], reader["questions"]) for reader in only["readers"]] == [("bob", 2)]

    shown = up.run_here("doctor", "--recall", CORPUS, "--as", "alice")
    assert shown.status == 0 and "recall, alice: 1.000 of the nearest 10 found" in shown.out
    assert "The text of it" not in shown.out + shown.err

    nobody = up.run_here("doctor", "--recall", CORPUS, "--as", "carol")
    assert (nobody.status, nobody.out) == (1, "") and "nothing was measured" in nobody.err


def test_what_cannot_be_measured_is_said_in_one_sentence(up: CommandLine, tmp_path: Path) -> None:
    unknown = up.run_here("doctor", "--recall", "t1/docs/none")
    assert unknown.status == 1 and "Corpus t1/docs/none does not exist" in unknown.err

    for arguments in (["--as", "alice"], ["--group", "staff"]):
        wrong = up.run_here("doctor", *arguments)
        assert wrong.status == 2 and "--recall" in wrong.err
    alone = up.run_here("doctor", "--recall", CORPUS, "--group", "staff")
    assert alone.status == 2 and "--as" in alone.err
