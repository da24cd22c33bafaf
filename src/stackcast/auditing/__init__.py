"""What a transcript proves: bounds, regrets, certificates, and what the agent looks like."""

from stackcast.auditing.audits import Audit, Phase, audit
from stackcast.auditing.bounds import Bound
from stackcast.auditing.portraits import Portrait, portrait
from stackcast.auditing.tables import read_transcript

__all__ = ["Audit", "Bound", "Phase", "Portrait", "audit", "portrait", "read_transcript"]
