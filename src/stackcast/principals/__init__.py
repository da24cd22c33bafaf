"""Who commits: scripted baselines and exploiters, the paper's learners, and the practical one.

``names()`` lists them, and ``names("finite")``, ``names("security")`` and ``names("continuous")``
those that play games of a kind; ``find(name)`` gives the class and ``stackcast.protocol.build`` a
player. Other distributions add their own by entry points in the group ``stackcast.principals``.
"""

from stackcast.principals.baselines import GridBandit, Oracle, UniformExplore
from stackcast.principals.commitments import Commitment
from stackcast.principals.coverage_learner import CoverageLearner
from stackcast.principals.coverage_search import CoverageSearch, search_coverage
from stackcast.principals.explore_then_commit import ExploreThenCommit, hand_set, learn_commitment
from stackcast.principals.lazy_gradient import LazyGDwoG, LazyGuarantee, lazy_guarantee
from stackcast.principals.learned import LearnedCommitment
from stackcast.principals.membership import approx_mem, membership_opt
from stackcast.principals.payoff_search import PayoffSearch, search_payoffs
from stackcast.principals.policy import FromPolicy
from stackcast.principals.questions import (
    Answer,
    ExactOracle,
    FixedBlocks,
    Question,
    RescheduledBlocks,
    Search,
    SelfStopping,
    Timing,
    ask_oracle,
)
from stackcast.principals.response_gradient import ResponseGradient
from stackcast.principals.scripted import Fixed, PhaseSwitch, Replay
from stackcast.principals.version_space import VersionSpace
from stackcast.protocol import Registry
from stackcast.theory import Precision, TheoryParameters, ball_share, membership_epochs

_registry = Registry(
    "principal",
    [
        CoverageLearner,
        ExploreThenCommit,
        Fixed,
        GridBandit,
        LazyGDwoG,
        Oracle,
        PhaseSwitch,
        Replay,
        ResponseGradient,
        UniformExplore,
        VersionSpace,
    ],
)
find, names, origin = _registry.find, _registry.names, _registry.origin

__all__ = [
    "Answer",
    "Commitment",
    "CoverageLearner",
    "CoverageSearch",
    "ExactOracle",
    "ExploreThenCommit",
    "Fixed",
    "FixedBlocks",
    "FromPolicy",
    "GridBandit",
    "LazyGDwoG",
    "LazyGuarantee",
    "LearnedCommitment",
    "Oracle",
    "PayoffSearch",
    "PhaseSwitch",
    "Precision",
    "Question",
    "Replay",
    "RescheduledBlocks",
    "ResponseGradient",
    "Search",
    "SelfStopping",
    "TheoryParameters",
    "Timing",
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
    "search_coverage",
    "search_payoffs",
]
