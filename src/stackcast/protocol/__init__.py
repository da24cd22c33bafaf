"""What passes between the players: blocks, the two contracts, play, transcripts, checkpoints."""

from stackcast.protocol.contracts import (
    UNTIL_THE_END,
    Agent,
    Block,
    Principal,
    Recommendation,
    Responses,
)
from stackcast.protocol.playing import play
from stackcast.protocol.transcript import Transcript

__all__ = [
    "UNTIL_THE_END",
    "Agent",
    "Block",
    "Principal",
    "Recommendation",
    "Responses",
    "Transcript",
    "play",
]
