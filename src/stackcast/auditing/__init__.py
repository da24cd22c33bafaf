"""Audits of transcripts: bounds, regrets, certificates, and the kind of agent."""

from stackcast.auditing.continuous import (
    ClassificationReport,
    Classifier,
    ContinuousAudit,
    audit_continuous,
    classification_report,
)
from stackcast.auditing.diagnosis import AgentDiagnosis, diagnose
from stackcast.auditing.finite import Audit, Bound, Phase, audit
from stackcast.auditing.ranges import RangeAudit, audit_ranges
from stackcast.auditing.records import column_norms, read_transcript

__all__ = [
    "AgentDiagnosis",
    "Audit",
    "Bound",
    "ClassificationReport",
    "Classifier",
    "ContinuousAudit",
    "Phase",
    "RangeAudit",
    "audit",
    "audit_continuous",
    "audit_ranges",
    "classification_report",
    "column_norms",
    "diagnose",
    "read_transcript",
]
