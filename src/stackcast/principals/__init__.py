"""Principals: scripted baselines and exploiters, the paper's learners, the practical learner.

``names()`` lists them, and ``names("finite")``, ``names("security")`` and ``names("continuous")``
those that play games of a kind; ``find(name)`` gives the class and ``stackcast.protocol.build`` a
player. Other distributions add their own by entry points in the group ``stackcast.principals``.
"""

from stackcast.principals.explore_then_commit import (
    BestResponseOracle,
    BlockSchedule,
    Commitment,
    ExploreThenCommit,
    FixedBlocks,
    Label,
    NoisyAnswersError,
    Query,
    RescheduledBlocks,
    Search,
    approx_mem,
    ask_oracle,
    hand_set,
    learn_commitment,
    membership_opt,
    single_question_opt,
)
from stackcast.principals.gradient import (
    LazyGDwoG,
    LazyGuarantee,
    ResponseGradient,
    lazy_guarantee,
)
from stackcast.principals.learner import AgentTraits, CommitmentLearner, LearnedCommitment
from stackcast.principals.policy import FromPolicy
from stackcast.principals.scripted import (
    Fixed,
    GridBandit,
    Oracle,
    PhaseSwitch,
    Replay,
    UniformExplore,
)
from stackcast.protocol import Registry
from stackcast.theory import Precision, TheoryParameters, ball_share, membership_epochs

#: Earlier names of the learner.
VersionSpace = CoverageLearner = CommitmentLearner

_registry = Registry(
    "principal",
    [
        CommitmentLearner,
        ExploreThenCommit,
        Fixed,
        GridBandit,
        LazyGDwoG,
        Oracle,
        PhaseSwitch,
        Replay,
        ResponseGradient,
        UniformExplore,
    ],
    earlier={"VersionSpace": CommitmentLearner, "CoverageLearner": CommitmentLearner},
)
find, names, origin = _registry.find, _registry.names, _registry.origin

__all__ = [
    "AgentTraits",
    "BestResponseOracle",
    "BlockSchedule",
    "Commitment",
    "CommitmentLearner",
    "CoverageLearner",
    "ExploreThenCommit",
    "Fixed",
    "FixedBlocks",
    "FromPolicy",
    "GridBandit",
    "Label",
    "LazyGDwoG",
    "LazyGuarantee",
    "LearnedCommitment",
    "NoisyAnswersError",
    "Oracle",
    "PhaseSwitch",
    "Precision",
    "Query",
    "Replay",
    "RescheduledBlocks",
    "ResponseGradient",
    "Search",
    "TheoryParameters",
    "UniformExplore",
    "VersionSpace",
    "approx_mem",
    "ask_oracle",
    "ball_share",
    "find",
    "hand_set",
    "lazy_guarantee",
    "learn_commitment",
    "membership_epochs",
    "membership_opt",
    "names",
    "origin",
    "single_question_opt",
]
