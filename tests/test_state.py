"""State files: exact round trips; everything cut, altered, foreign or newer is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stackcast import InputError
from stackcast._random import stream
from stackcast._state import (
    decode_state,
    encode_state,
    generator_state,
    load_state,
    restored_generator,
    save_state,
)

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = {
    "round": 12,
    "totals": np.array([[0.5, -0.0], [np.nan, np.inf]]),
    "seen": np.array([True, False]),
    "nothing": None,
    "inner": {"names": ["a", "$array"], "big": 2**127 + 1, "$array": 3},
}

_dtypes = st.sampled_from(["<f8", ">f8", "<f4", "<i8", ">i4", "|u1", "|b1", "<u8"])
_arrays = hnp.arrays(_dtypes, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
_leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | _arrays
_trees = st.recursive(
    _leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.just("$array"), inner, max_size=3)
    ),
    max_leaves=8,
)


def same(a: Any, b: Any) -> bool:
    """Equal to the last bit, types included."""
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and (a.dtype, a.shape, a.tobytes()) == (
            b.dtype,
            b.shape,
            b.tobytes(),
        )
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return repr(a) == repr(b)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.text(max_size=3) | st.just("$array"), _trees, max_size=4))
def test_round_trip_is_exact(state: dict[str, Any]) -> None:
    assert same(decode_state("thing", encode_state("thing", state), "here"), state)


def test_every_truncation_and_every_flipped_byte_is_refused() -> None:
    data = encode_state("thing", SAMPLE)
    assert same(decode_state("thing", data, "here"), SAMPLE)
    for end in range(len(data)):
        with pytest.raises(InputError, match=r"^here: expected a saved thing.*\.$"):
            decode_state("thing", data[:end], "here")
    for place in range(len(data)):
        for flip in (0x01, 0x20, 0xFF):
            altered = bytearray(data)
            altered[place] ^= flip
            with pytest.raises(InputError, match=r"^here: expected a saved thing.*\.$"):
                decode_state("thing", bytes(altered), "here")
    with pytest.raises(InputError, match="cut or altered"):
        decode_state("thing", data + b"\0", "here")


def test_wrong_kind_foreign_newer_and_missing_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.state"
    save_state(path, "forecaster", {"round": 1})
    with pytest.raises(InputError, match="expected a saved campaign, found a saved forecaster"):
        load_state(path, "campaign")
    newer = path.read_bytes().replace(b"stackcast state 1\n", b"stackcast state 2\n", 1)
    with pytest.raises(InputError, match="found format 2, of a later version"):
        decode_state("forecaster", newer, "here")
    for foreign in (b"", b"\n", b"PK\x03\x04", b"stackcast state one\n", json.dumps({}).encode()):
        with pytest.raises(InputError, match="a file of another sort"):
            decode_state("forecaster", foreign, "here")
    with pytest.raises(InputError, match="no readable file"):
        load_state(tmp_path / "missing", "forecaster")
    with pytest.raises(InputError, match="no readable file"):
        load_state(tmp_path, "forecaster")


@pytest.mark.parametrize(
    "header",
    [
        [],
        {"kind": "thing"},
        {"kind": "thing", "state": {"$array": 0}, "arrays": []},
        {"kind": "thing", "state": [], "arrays": []},
        {"kind": "thing", "state": {}, "arrays": [{"dtype": "O", "shape": [1]}]},
        {"kind": "thing", "state": {}, "arrays": [{"dtype": "<f8", "shape": [-1]}]},
        {"kind": "thing", "state": {}, "arrays": [{"dtype": "<f8", "shape": [10**9]}]},
        {"kind": "thing", "state": {}, "arrays": [{"dtype": "nonsense", "shape": [1]}]},
    ],
)
def test_a_right_digest_over_wrong_content_is_refused(header: Any) -> None:
    import hashlib

    content = json.dumps(header).encode() + b"\n" + bytes(8)
    digest = hashlib.sha256(content).hexdigest().encode()
    with pytest.raises(InputError, match="does not describe one"):
        decode_state("thing", b"stackcast state 1\n" + digest + b"\n" + content, "here")


def test_saving_replaces_the_whole_file_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "x.state"
    save_state(path, "thing", SAMPLE)
    with pytest.raises(TypeError, match="cannot hold a set"):
        save_state(path, "thing", {"bad": {1, 2}})
    with pytest.raises(TypeError, match="cannot hold an array of object"):
        save_state(path, "thing", {"bad": np.array([None])})
    assert same(load_state(path, "thing"), SAMPLE)
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.state"]


def test_random_streams_continue_where_they_stood(tmp_path: Path) -> None:
    rng = stream(3, "forecasts")
    rng.random(17)
    rng.integers(0, 5, dtype=np.uint32)
    save_state(tmp_path / "r", "stream", generator_state(rng))
    twin = restored_generator(load_state(tmp_path / "r", "stream"))
    assert (rng.random(100) == twin.random(100)).all()
    with pytest.raises(TypeError, match="PCG64"):
        generator_state(np.random.Generator(np.random.MT19937(0)))
    with pytest.raises(InputError, match="random stream"):
        restored_generator({"state": "x"})
