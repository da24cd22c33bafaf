"""Campaigns: a principal that advises people, one decision at a time, kept in one file."""

from stackcast.campaigns.campaign import (
    Advice,
    Answers,
    Campaign,
    Draw,
    Receipt,
    Status,
    mixture,
)
from stackcast.campaigns.journal import Entry
from stackcast.campaigns.parsing import parse_constraint, parse_numbers, parse_strategy
from stackcast.campaigns.rehearsal import Rehearsal, rehearse
from stackcast.games import HalfKnownGame, load_half_known

__all__ = [
    "Advice",
    "Answers",
    "Campaign",
    "Draw",
    "Entry",
    "HalfKnownGame",
    "Receipt",
    "Rehearsal",
    "Status",
    "load_half_known",
    "mixture",
    "parse_constraint",
    "parse_numbers",
    "parse_strategy",
    "rehearse",
]
