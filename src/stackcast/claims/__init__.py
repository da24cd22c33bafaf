"""Every claim of the paper as an experiment that returns data."""

from stackcast.claims.experiments import Claim, Curve, Finding, Measured
from stackcast.claims.verifying import CLAIMS, check_claim, claim_names, verify

__all__ = [
    "CLAIMS",
    "Claim",
    "Curve",
    "Finding",
    "Measured",
    "check_claim",
    "claim_names",
    "verify",
]
