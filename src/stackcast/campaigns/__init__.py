"""The principal as an adviser to people: durable, one decision at a time."""

from stackcast.campaigns.advice import Advice, Receipt, mixture
from stackcast.campaigns.campaign import Campaign
from stackcast.campaigns.half_known import HalfKnownGame, load_half_known
from stackcast.campaigns.journal import Entry
from stackcast.campaigns.knowledge import Status
from stackcast.campaigns.wording import parse_constraint, parse_numbers

__all__ = [
    "Advice",
    "Campaign",
    "Entry",
    "HalfKnownGame",
    "Receipt",
    "Status",
    "load_half_known",
    "mixture",
    "parse_constraint",
    "parse_numbers",
]
