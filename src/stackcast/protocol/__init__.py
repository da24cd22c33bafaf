"""What passes between the players: blocks, the two contracts, play, transcripts, checkpoints."""

from stackcast.protocol.contracts import (
    UNTIL_THE_END,
    Agent,
    Block,
    Player,
    Principal,
    Recommendation,
    Responses,
    fits,
)
from stackcast.protocol.playing import play
from stackcast.protocol.registry import Registry
from stackcast.protocol.transcript import Transcript, response_type

__all__ = [
    "UNTIL_THE_END",
    "Agent",
    "Block",
    "Player",
    "Principal",
    "Recommendation",
    "Registry",
    "Responses",
    "Transcript",
    "fits",
    "play",
    "response_type",
]
