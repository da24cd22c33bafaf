"""Who commits: scripted baselines and exploiters, the paper's learners, and the practical one.

``names()`` lists the principals that a name can stand for and ``find(name)`` gives the class; other
distributions add their own by entry points in the group ``stackcast.principals``.
"""

from stackcast.principals.baselines import GridBandit, Oracle, UniformExplore
from stackcast.principals.coverage_learner import CoverageLearner
from stackcast.principals.coverage_search import CoverageSearch, search_coverage
from stackcast.principals.explore_then_commit import ExploreThenCommit, learn_commitment
from stackcast.principals.learned import LearnedCommitment
from stackcast.principals.membership import approx_mem, membership_opt
from stackcast.principals.payoff_search import Commitment, PayoffSearch, search_payoffs
from stackcast.principals.questions import (
    Answer,
    ExactOracle,
    FixedBlocks,
    Question,
    RescheduledBlocks,
    SelfStopping,
    ask_oracle,
)
from stackcast.principals.scripted import Fixed, PhaseSwitch, Replay
from stackcast.principals.theory import Precision, TheoryParameters
from stackcast.principals.version_space import VersionSpace
from stackcast.protocol.registry import Registry

_registry = Registry(
    "stackcast.principals",
    {
        "CoverageLearner": CoverageLearner,
        "ExploreThenCommit": ExploreThenCommit,
        "Fixed": Fixed,
        "GridBandit": GridBandit,
        "Oracle": Oracle,
        "PhaseSwitch": PhaseSwitch,
        "Replay": Replay,
        "UniformExplore": UniformExplore,
        "VersionSpace": VersionSpace,
    },
)
find, make, names, origin = _registry.find, _registry.make, _registry.names, _registry.origin

__all__ = [
    "Answer",
    "Commitment",
    "CoverageLearner",
    "CoverageSearch",
    "ExactOracle",
    "ExploreThenCommit",
    "Fixed",
    "FixedBlocks",
    "GridBandit",
    "LearnedCommitment",
    "Oracle",
    "PayoffSearch",
    "PhaseSwitch",
    "Precision",
    "Question",
    "Replay",
    "RescheduledBlocks",
    "SelfStopping",
    "TheoryParameters",
    "UniformExplore",
    "VersionSpace",
    "approx_mem",
    "ask_oracle",
    "find",
    "learn_commitment",
    "make",
    "membership_opt",
    "names",
    "origin",
    "search_coverage",
    "search_payoffs",
]
