"""Saved state: numbers, texts and arrays in one file, without pickle.

A state is a dictionary of nested dictionaries (with text keys), lists, arrays, numbers, texts,
truth values and ``None``. A state file says its format, what kind of thing it holds and which
version of the package wrote it, and carries a SHA-256 of its content, so that a file that was cut,
altered, written for something else or written by a later version is refused in one sentence.
Reading one never runs code. The format is described in ``docs/reference/state-files.md``.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import os
from typing import Any

import numpy as np

from stackcast._files import read_bytes, write_whole
from stackcast._validation import InputError, shown

#: What a player or forecaster remembers; see the module's docstring for what it may hold.
State = dict[str, Any]

FORMAT = 1
_MAGIC = b"stackcast state "
_ARRAY = "$array"
_HASH_LENGTH = 64
_SCALARS = (bool, int, float, str, type(None))
_STORABLE = "biuf"


def encode_state(kind: str, state: State) -> bytes:
    """Return the bytes of a state file that holds ``state``.

    Examples
    --------
    >>> data = encode_state("example", {"rounds": 3, "totals": np.array([0.5, 0.25])})
    >>> decode_state("example", data, "here")
    {'rounds': 3, 'totals': array([0.5 , 0.25])}
    """
    arrays: list[np.ndarray[Any, Any]] = []
    tree = _to_json(state, arrays)
    header = {
        "kind": kind,
        "written_by": "stackcast " + _package_version(),
        "state": tree,
        "arrays": [{"dtype": a.dtype.str, "shape": list(a.shape)} for a in arrays],
    }
    content = b"".join(
        [json.dumps(header, separators=(",", ":")).encode() + b"\n", *(a.tobytes() for a in arrays)]
    )
    digest = hashlib.sha256(content).hexdigest().encode()
    return _MAGIC + str(FORMAT).encode() + b"\n" + digest + b"\n" + content


def decode_state(kind: str, data: bytes, place: str) -> State:
    """Return the state in ``data``, or say in one sentence why it cannot be used.

    ``place`` is where the bytes came from, in the user's words.
    """
    content = _verified_content(kind, data, place)
    damaged = InputError(place, f"a saved {kind}", "content that does not describe one")
    try:
        head, _, body = content.partition(b"\n")
        header = json.loads(head)
        found = header["kind"]
        if found != kind:
            raise InputError(place, f"a saved {kind}", f"a saved {found}")
        arrays, offset = [], 0
        for entry in header["arrays"]:
            dtype, shape = np.dtype(str(entry["dtype"])), [int(n) for n in entry["shape"]]
            count = math.prod(shape)
            if dtype.kind not in _STORABLE or dtype.itemsize > 8 or min(shape, default=0) < 0:
                raise damaged
            array = np.frombuffer(body, dtype, count, offset) if count else np.empty(0, dtype)
            arrays.append(array.reshape(shape).copy())
            offset += count * dtype.itemsize
        state = _from_json(header["state"], arrays)
    except InputError:
        raise
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError):
        raise damaged from None
    if offset != len(body) or not isinstance(state, dict):
        raise damaged
    return state


def save_state(path: str | os.PathLike[str], kind: str, state: State) -> None:
    """Write ``state`` to ``path``: afterwards the whole new file is there, or the old one."""
    write_whole(path, encode_state(kind, state))


def load_state(path: str | os.PathLike[str], kind: str) -> State:
    """Return the state of the given kind that was saved at ``path``."""
    return decode_state(kind, read_bytes(path, f"a saved {kind}"), os.fspath(path))


def generator_state(rng: np.random.Generator) -> State:
    """Return where a PCG64 random stream stands.

    Examples
    --------
    >>> rng = np.random.Generator(np.random.PCG64(7))
    >>> twin = restored_generator(generator_state(rng))
    >>> bool(rng.random() == twin.random())
    True
    """
    state = rng.bit_generator.state
    if state["bit_generator"] != "PCG64":
        raise TypeError(f"only PCG64 streams can be saved, not {state['bit_generator']}")
    return {
        "state": int(state["state"]["state"]),
        "inc": int(state["state"]["inc"]),
        "has_uint32": int(state["has_uint32"]),
        "uinteger": int(state["uinteger"]),
    }


def restored_generator(state: State) -> np.random.Generator:
    """Return the random stream that stood where ``state`` says."""
    bits = np.random.PCG64(0)
    try:
        bits.state = {
            "bit_generator": "PCG64",
            "state": {"state": state["state"], "inc": state["inc"]},
            "has_uint32": state["has_uint32"],
            "uinteger": state["uinteger"],
        }
    except (KeyError, TypeError, ValueError, OverflowError):
        raise InputError("random stream", "the state of a PCG64 stream", shown(state)) from None
    return np.random.Generator(bits)


def _verified_content(kind: str, data: bytes, place: str) -> bytes:
    """Return what follows the digest, once the digest agrees."""
    expected = f"a saved {kind}"
    first, newline, rest = data.partition(b"\n")
    number = first[len(_MAGIC) :]
    if not newline or not first.startswith(_MAGIC) or not number.isdigit() or len(number) > 9:
        raise InputError(place, expected, "a file of another sort")
    if int(number) > FORMAT:
        raise InputError(
            place, f"{expected} in format {FORMAT}", f"format {int(number)}, of a later version"
        )
    if number != str(FORMAT).encode():
        raise InputError(place, f"{expected} in format {FORMAT}", f"format {int(number)}")
    digest, content = rest[:_HASH_LENGTH], rest[_HASH_LENGTH + 1 :]
    if rest[_HASH_LENGTH : _HASH_LENGTH + 1] != b"\n" or digest != (
        hashlib.sha256(content).hexdigest().encode()
    ):
        raise InputError(place, f"{expected} as it was written", "one that was cut or altered")
    return content


def _package_version() -> str:
    # By name: this room lies below every other, and the package's front door names them all.
    return str(importlib.import_module("stackcast").__version__)


def _to_json(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    """Return ``value`` as JSON can hold it; arrays go to the list and leave their number."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in _STORABLE or value.dtype.itemsize > 8:
            raise TypeError(f"a state cannot hold an array of {value.dtype}")
        arrays.append(value)
        return {_ARRAY: len(arrays) - 1}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, _SCALARS):
        return value
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("the keys of a state are texts")
        # A key that starts with the mark of an array gets one more mark.
        keys = ["$" + key if key.startswith("$") else key for key in value]
        return dict(zip(keys, _to_json(list(value.values()), arrays), strict=True))
    if not isinstance(value, list):
        raise TypeError(f"a state cannot hold a {type(value).__name__}")
    entries: list[Any] = []
    for entry in value:  # the common kinds at once: a state may hold thousands
        kind = type(entry)
        if kind is np.ndarray and entry.dtype.kind in _STORABLE and entry.dtype.itemsize <= 8:
            arrays.append(entry)
            entries.append({_ARRAY: len(arrays) - 1})
        else:
            entries.append(entry if kind in _SCALARS else _to_json(entry, arrays))
    return entries


def _from_json(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    if isinstance(value, list):
        return [
            v
            if type(v) in _SCALARS
            else arrays[v[_ARRAY]]
            if type(v) is dict and v.keys() == {_ARRAY}
            else _from_json(v, arrays)
            for v in value
        ]
    if isinstance(value, dict):
        if value.keys() == {_ARRAY}:
            return arrays[value[_ARRAY]]
        keys = [key[1:] if key.startswith("$") else key for key in value]
        return dict(zip(keys, _from_json(list(value.values()), arrays), strict=True))
    return value
