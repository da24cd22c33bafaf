"""Every claim of the paper as an experiment that returns data."""

from stackcast.claims.claim import (
    Claim,
    Curve,
    Finding,
    Measured,
    all_claims,
    check_claim,
    claim_names,
    verify,
)

__all__ = [
    "Claim",
    "Curve",
    "Finding",
    "Measured",
    "all_claims",
    "check_claim",
    "claim_names",
    "verify",
]
