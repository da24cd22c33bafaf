"""The protocol of the players: blocks, the two contracts, play, transcripts, checkpoints."""

from stackcast.protocol.contracts import (
    UNTIL_THE_END,
    Agent,
    Block,
    Player,
    Principal,
    Recommendation,
    Registry,
    Responses,
    build,
    fits,
    kind_of,
    response_type,
)
from stackcast.protocol.playing import LONGEST_BLOCK, play
from stackcast.protocol.transcript import Transcript

__all__ = [
    "LONGEST_BLOCK",
    "UNTIL_THE_END",
    "Agent",
    "Block",
    "Player",
    "Principal",
    "Recommendation",
    "Registry",
    "Responses",
    "Transcript",
    "build",
    "fits",
    "kind_of",
    "play",
    "response_type",
]
