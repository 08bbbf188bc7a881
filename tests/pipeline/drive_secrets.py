"""A Drive whose every file has words that stand nowhere else, with people and an account whose secrets are known."""

import json
from pathlib import Path
from typing import Any, Final

from tests.drive.serving import RunningDrive
from tests.drive.world import World
from tests.unit.small_pdf import make_pdf, words

ANN, BOB = "wilhelmina@skulduggery.test", "cornelius@brouhaha.test"
PERSON, ACCOUNT = "robot@b.test", "account@b.test"  # as whom the two connectors sign in
# Words by file. Each has one of its own.
WORDS: Final = {
    "policy.md": "vellichor", "Native": "taradiddle", "note.txt": "snollygoster", "cjk.txt": "石英羚羊",
    "scan.pdf": "widdershins", "broken.pdf": "collywobbles", "archive.zip": "flibbertigibbet",
    "poison.txt": "gobbledygook", "refused.txt": "kerfuffle", "failing.txt": "lollygag", "cut.txt": "cattywampus",
    "unshared.txt": "bumfuzzle", "private.txt": "malarkey", "secret.txt": "borborygmus", "added.txt": "nincompoop",
}  # fmt: skip
_TEXT: Final = "The {} ibex sleeps beneath the moon."


class SecretOffice:
    """Ann's folder, which Bob may read too, and another, which the service account reads."""

    def __init__(self) -> None:
        self.world = World()
        for email in (ANN, BOB, PERSON, ACCOUNT):
            self.world.add_user(email)
        self.folder, self.other = self._folder("Office", PERSON), self._folder("Other", ACCOUNT)
        self.world.share(self.folder, BOB)
        self.files = {
            name: self.add(name)
            for name in WORDS
            if name not in ("Native", "scan.pdf", "broken.pdf", "archive.zip", "secret.txt", "added.txt")
        }
        self.files["scan.pdf"] = self.add("scan.pdf", make_pdf([words(text_of("scan.pdf"))]))
        self.files["broken.pdf"] = self.add("broken.pdf", b"%PDF-1.4\n" + text_of("broken.pdf").encode())
        self.files["archive.zip"] = self.add("archive.zip", b"PK\x03\x04" + text_of("archive.zip").encode() + bytes(99))
        self.files["secret.txt"] = self.add("secret.txt", parent=self.other)
        exports = {"text/markdown": text_of("Native"), "text/plain": text_of("Native")}
        self.files["Native"] = self.world.add_document("Native", exports, parent=self.folder, owner=ANN).id
        # Nobody may tell the connector who reads this one.
        closed = self.world.add_folder("Closed", parent=self.folder, owner=ANN).id
        self.world.edit(closed, inherited_permissions_disabled=True)
        self.world.share(closed, PERSON)
        self.world.move(self.files["private.txt"], to=closed)

    def add(self, name: str, data: bytes | None = None, *, parent: str | None = None) -> str:
        return self.world.add_file(name, data or text_of(name), parent=parent or self.folder, owner=ANN).id

    def _folder(self, name: str, account: str) -> str:
        folder = self.world.add_folder(name, owner=ANN).id
        self.world.share(folder, account, role="writer")
        return folder


def text_of(name: str) -> str:
    return _TEXT.format(WORDS[name])


class Secrets:
    """The credentials of both connectors, and every access token that was given out."""

    def __init__(self, drive: RunningDrive, folder: Path) -> None:
        self.of_person = drive.authorized_user_file(folder, PERSON)
        self.of_account = drive.service_account_file(folder, ACCOUNT)
        self._access_tokens: list[str] = []
        self._listen(drive)

    @property
    def count_of_tokens(self) -> int:
        return len(self._access_tokens)

    def all(self) -> dict[str, str]:
        """Each by what it is called."""
        person, account = (json.loads(file.read_text()) for file in (self.of_person, self.of_account))
        lines = account["private_key"].split("\n")[1:-2]
        return {
            "refresh token": person["refresh_token"],
            "client secret": person["client_secret"],
            "id of the key": account["private_key_id"],
            **{f"private key, line {number}": line for number, line in enumerate(lines) if len(line) > 20},
            **{f"access token {number}": token for number, token in enumerate(self._access_tokens)},
        }

    def _listen(self, drive: RunningDrive) -> None:
        grant = drive.tokens.grant

        def heard(form: Any) -> dict[str, Any]:
            answer = grant(form)
            self._access_tokens.append(answer["access_token"])
            return answer

        # The endpoint answers as ever; nobody else can say which tokens there were.
        drive.tokens.grant = heard  # type: ignore[method-assign]
