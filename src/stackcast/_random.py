"""Seeds: one number from the user, one independent stream for each purpose.

A stream is keyed by *what it is for*, never by the order in which streams are made, so that serial,
parallel and resumed runs draw the same numbers.
"""

from __future__ import annotations

import hashlib

import numpy as np

from stackcast._validation import whole_number


def stream(seed: int, *purpose: str | int) -> np.random.Generator:
    """Return the random stream of ``seed`` for the words in ``purpose``.

    Examples
    --------
    >>> a, b = stream(0, "ties"), stream(0, "ties")
    >>> bool((a.random(4) == b.random(4)).all())
    True
    >>> bool(stream(0, "ties").random() == stream(0, "forecasts").random())
    False
    """
    whole_number("seed", seed)
    digest = hashlib.blake2b(repr(purpose).encode(), digest_size=16).digest()
    key = np.frombuffer(digest, dtype="<u4").tolist()
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))
