"""The folder that the studio works in: no path leaves it, and files appear whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
from typing import TYPE_CHECKING, NamedTuple

from stackcast._validation import InputError, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NAME = re.compile(r"\w[\w .()+-]{0,99}")
#: Files of one kind that are listed at most.
MOST = 500


class File(NamedTuple):
    """A file that was sent, or that is sent to be kept."""

    name: str
    content: bytes

    def must_end(self, *endings: str) -> None:
        """Refuse a file whose name does not end in one of these."""
        if not self.name.endswith(endings):
            raise InputError(
                "file", "a name that ends in " + " or ".join(endings), shown(self.name)
            )


class ConflictError(Exception):
    """A file is not any more what was read."""


class Folder:
    """A folder; every name is checked, and whatever lies or points elsewhere does not exist.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as place:
    ...     folder = Folder(Path(place))
    ...     folder.write("city.toml", b"name = 'x'")
    ...     folder.read("city.toml")
    ...     folder.at("../elsewhere.toml")
    Traceback (most recent call last):
    ...
    stackcast._validation.InputError: name: expected a plain name of letters, digits, spaces and
    . - _ ( ) +, found '../elsewhere.toml'.
    """

    def __init__(self, root: Path) -> None:
        if root.exists() and not root.is_dir():
            raise InputError(str(root), "a folder", "a file")
        try:
            root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise InputError(str(root), "a folder that can be written to", reason) from None
        self.root = root.resolve()

    def at(self, name: str, *endings: str) -> Path:
        """Return the path of a plain name with one of the endings."""
        return self._inside(name, self.root, endings)

    def below(self, path: str, *endings: str) -> Path:
        """Return the path of names with slashes between them, each of them plain."""
        *folders, name = path.split("/")
        place = self.root
        for part in folders:
            place = self._inside(part, place, ())
        return self._inside(name, place, endings)

    def _inside(self, name: str, place: Path, endings: tuple[str, ...]) -> Path:
        if _NAME.fullmatch(name) is None or name.endswith((" ", ".")):
            expected = "a plain name of letters, digits, spaces and . - _ ( ) +"
            raise InputError("name", expected, shown(name))
        if endings and not name.lower().endswith(endings):
            raise InputError("name", "a name that ends in " + " or ".join(endings), shown(name))
        path = place / name
        with contextlib.suppress(OSError, RuntimeError):
            if path.resolve().is_relative_to(self.root):
                return path
        raise InputError("name", "a file of this folder", f"{shown(name)}, which leads elsewhere")

    def read(self, name: str, most: int = 50_000_000) -> bytes:
        """Return the content of a file."""
        path = self.below(name)
        try:
            if path.stat().st_size > most:
                raise InputError(name, f"a file of at most {most:,} bytes", "a larger one")
            return path.read_bytes()
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise InputError(name, "a file that can be read", reason) from None

    def write(self, name: str, content: bytes) -> None:
        """Write a file as a whole."""
        path = self.below(name)
        draft = path.with_name(f".{secrets.token_hex(8)}.tmp")
        try:
            with draft.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path.resolve())
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise InputError(name, "a file that can be written", reason) from None
        finally:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)

    @contextlib.contextmanager
    def draft(self, ending: str, content: bytes | None = None) -> Iterator[Path]:
        """Yield the place of a file that is gone afterwards."""
        path = self.at(f"draft-{secrets.token_hex(8)}{ending}")
        try:
            if content is not None:
                path.write_bytes(content)
            yield path
        finally:
            path.unlink(missing_ok=True)

    def free(self, name: str) -> str:
        """Return the name, or the first of name-2, name-3 … that nothing has yet."""
        stem, dot, ending = name.rpartition(".") if "." in name else (name, "", "")
        found, number = name, 1
        while os.path.lexists(self.at(found)):
            number += 1
            found = f"{stem}-{number}{dot}{ending}"
        return found

    def files(self, *endings: str) -> Iterator[Path]:
        """Yield the files of this folder with one of the endings, by name."""
        listed = sorted(os.scandir(self.root), key=lambda entry: entry.name.lower())
        found = 0
        for entry in listed:
            if found >= MOST or not entry.name.lower().endswith(endings):
                continue
            with contextlib.suppress(InputError, OSError):
                path = self.at(entry.name)
                if path.is_file():
                    found += 1
                    yield path

    def folders(self) -> Iterator[Path]:
        """Yield the folders in this one, by name."""
        for entry in sorted(os.scandir(self.root), key=lambda entry: entry.name.lower())[:MOST]:
            with contextlib.suppress(InputError, OSError):
                path = self.at(entry.name)
                if path.is_dir():
                    yield path

    def plain(self, sentence: str) -> str:
        """Return a sentence with the files of this folder called by their names alone."""
        return sentence.replace(f"{self.root}{os.sep}", "").replace(str(self.root), "the folder")


def mark_of(content: bytes) -> str:
    """Return what tells one version of a file from another."""
    return hashlib.sha256(content).hexdigest()[:16]


def file_name(title: str, ending: str) -> str:
    """Return a name for a file from what people call a thing."""
    stem = re.sub(r"[^\w.-]+", "-", title.strip()).strip("-. _")[:60]
    return f"{stem or 'game'}{ending}"
