"""The principal as an adviser to people: durable, one decision at a time."""

from stackcast.campaigns.advice import Advice, Receipt
from stackcast.campaigns.campaign import Campaign
from stackcast.campaigns.half_known import HalfKnownGame, load_half_known
from stackcast.campaigns.journal import Entry

__all__ = ["Advice", "Campaign", "Entry", "HalfKnownGame", "Receipt", "load_half_known"]
