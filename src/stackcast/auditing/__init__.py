"""What a transcript proves: bounds, regrets, certificates, and what the agent looks like."""

from stackcast.auditing.audits import Audit, audit
from stackcast.auditing.bounds import Bound, column_norms
from stackcast.auditing.classification import ClassificationReport, classification_report
from stackcast.auditing.continuous import ContinuousAudit
from stackcast.auditing.phases import Phase
from stackcast.auditing.portraits import Portrait, portrait
from stackcast.auditing.tables import read_transcript

__all__ = [
    "Audit",
    "Bound",
    "ClassificationReport",
    "ContinuousAudit",
    "Phase",
    "Portrait",
    "audit",
    "classification_report",
    "column_norms",
    "portrait",
    "read_transcript",
]
