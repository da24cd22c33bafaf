"""Stackelberg security games: a defender covers targets, an attacker picks one of them.

There are n targets and r resources. The defender commits to *coverage* c, the probability with
which each target is covered: 0 ≤ c_t ≤ 1 and Σc ≤ r. An attack on target t pays each side its
covered payoff with probability c_t and its uncovered payoff otherwise,

    U_D(c, t) = c_t·defender_covered[t] + (1 − c_t)·defender_uncovered[t],

and likewise for the attacker. Covering a target helps the defender or leaves it as it is, and does
the attacker no good. The game is played in coverage space; nothing lists the C(n, r) ways to place
the resources, and :meth:`SecurityGame.draw_schedules` places them when the day comes.

The defender is the principal, the attacker the agent, and targets are both the coordinates of a
strategy and the agent's actions.

References
----------
C. Kiekintveld, M. Jain, J. Tsai, J. Pita, F. Ordóñez and M. Tambe, Computing optimal randomized
resource allocations for massive security games, AAMAS 2009; J. Tsai, Z. Yin, J. Kwak, D. Kempe,
C. Kiekintveld and M. Tambe, Urban security: game-theoretic resource allocation in networked
physical domains, AAAI 2010 (comb sampling).
"""

from __future__ import annotations

import math
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from stackcast._random import stream
from stackcast._validation import InputError, names, real_vector, whole_number
from stackcast.games.game import AgentView, FiniteGame, Game, PrincipalView, few, to_unit
from stackcast.games.spaces import Constraint, Polytope, drawn_actions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt

    from stackcast._validation import BoolArray, FloatArray

V = TypeVar("V", PrincipalView, AgentView)

#: More pure schedules than this are not listed.
_MOST_SCHEDULES = 20_000


class SecurityGame(Game):
    """A security game between a defender (principal) and an attacker (agent).

    Parameters
    ----------
    defender_covered, defender_uncovered : array-like, shape (n,)
        The defender's payoff of an attack on each target, covered and not; covered is no worse.
    attacker_covered, attacker_uncovered : array-like, shape (n,)
        The attacker's; covered is no better.
    resources : int
        How many targets can be covered at once, from 1 to n.
    targets : iterable of str, optional
        Distinct names, otherwise ``target 1``, ….
    name, description, source : str
        What the game is called, its story, and where it comes from.
    known_value : float, optional
        The Stackelberg value that the source states.
    constraints : iterable of Constraint, optional
        Linear constraints on coverage, with weights of targets (schedules, regions, quotas).

    Examples
    --------
    >>> game = SecurityGame(defender_covered=[0, 0], defender_uncovered=[-5, -3],
    ...                     attacker_covered=[-1, -1], attacker_uncovered=[5, 3], resources=1,
    ...                     targets=["port", "beach"])
    >>> game
    SecurityGame(2 targets, 1 resource: port, beach)
    >>> game.agent_utilities([0.6, 0.4])
    array([1.4, 1.4])
    >>> game.draw_schedules([0.6, 0.4], days=10_000, seed=0).mean(axis=0).round(2)
    array([0.6, 0.4])
    """

    defender_covered: FloatArray
    defender_uncovered: FloatArray
    attacker_covered: FloatArray
    attacker_uncovered: FloatArray
    resources: int
    targets: tuple[str, ...]

    def __init__(
        self,
        defender_covered: npt.ArrayLike,
        defender_uncovered: npt.ArrayLike,
        attacker_covered: npt.ArrayLike,
        attacker_uncovered: npt.ArrayLike,
        resources: int,
        targets: Iterable[str] | None = None,
        *,
        name: str = "",
        description: str = "",
        source: str = "",
        known_value: float | None = None,
        constraints: Iterable[Constraint | Mapping[str, Any]] = (),
    ) -> None:
        self.defender_covered = real_vector("defender_covered", defender_covered)
        n = len(self.defender_covered)
        self.defender_uncovered = real_vector("defender_uncovered", defender_uncovered, n)
        self.attacker_covered = real_vector("attacker_covered", attacker_covered, n)
        self.attacker_uncovered = real_vector("attacker_uncovered", attacker_uncovered, n)
        self.targets = names("targets", targets, n, "target")
        self.resources = whole_number("resources", resources, at_least=1)
        if self.resources > n:
            found = f"{self.resources} for {n} target{'s' if n > 1 else ''}"
            raise InputError("resources", "no more resources than targets", found)
        defender, attacker = self._payoffs()[:2], self._payoffs()[2:]
        self._require_order("defender_covered", *defender)
        self._require_order("attacker_uncovered", *reversed(attacker))
        self.principal_actions = self.agent_actions = self.targets
        self._describe(name, description, source, known_value, constraints)

    def _require_order(self, field: str, higher: FloatArray, lower: FloatArray) -> None:
        """Refuse payoffs for which covering a target turns the game on its head."""
        if (higher < lower).any():
            t = int(np.argmax(higher < lower))
            state = "uncovered" if field == "defender_covered" else "covered"
            raise InputError(
                f"{field}, target {self.targets[t]!r}",
                f"at least the {state} payoff, {lower[t]:g}",
                f"{higher[t]:g}",
            )

    @cached_property
    def space(self) -> Polytope:
        """The defender's strategy space: coverage, cut by the constraints."""
        return Polytope.coverage(self.targets, self.resources, self.constraints)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all that determines play: payoffs, resources, targets, constraints."""
        return self._hash(["security", list(self.targets), self.resources], *self._payoffs())

    @cached_property
    def principal_view(self) -> PrincipalView:
        """What a defender may know of this game."""
        return self._side(PrincipalView, self.defender_covered, self.defender_uncovered)

    @cached_property
    def agent_view(self) -> AgentView:
        """What an attacker may know of this game."""
        return self._side(AgentView, self.attacker_covered, self.attacker_uncovered)

    def _side(self, view: type[V], covered: FloatArray, uncovered: FloatArray) -> V:
        payoffs = np.diag(covered - uncovered)
        payoffs.flags.writeable = False
        both = self.targets, self.targets, self.space, self.fingerprint
        return view(payoffs, uncovered, *both)

    def _payoffs(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        return (
            self.defender_covered,
            self.defender_uncovered,
            self.attacker_covered,
            self.attacker_uncovered,
        )

    def draw_schedules(self, coverage: npt.ArrayLike, days: int, seed: int) -> BoolArray:
        """Return which targets are covered on each day, drawn so that coverage is as asked.

        Comb sampling: the coverage is laid end to end on a line, and a comb with teeth at distance
        1 is thrown onto it; the targets under the teeth are covered. No day uses more than the
        resources, each target is covered with its probability, and days are independent.

        Parameters
        ----------
        coverage : array-like, shape (n,)
            The coverage of each target.
        days : int
            How many schedules to draw.
        seed : int
            The seed of the draws.

        Returns
        -------
        array of bool, shape (days, n)
        """
        c = np.clip(self.space.check("coverage", coverage), 0.0, 1.0)
        days = whole_number("days", days, at_least=1)
        uniforms = stream(seed, "games", "schedules").random(days)
        return drawn_actions(c, uniforms) > 0

    def to_finite(self) -> FiniteGame:
        """Return the same game with every set of at most r targets as an action of its own.

        For small games only: a cross-check, and a way to Gambit's files.
        """
        n, r = len(self.targets), self.resources
        count = sum(math.comb(n, size) for size in range(r + 1))
        if count > _MOST_SCHEDULES:
            expected = f"a game of at most {_MOST_SCHEDULES:,} schedules"
            raise InputError("game", expected, f"{count:,}")
        sets = [chosen for size in range(r + 1) for chosen in combinations(range(n), size)]
        covered = np.zeros((len(sets), n))
        for row, chosen in zip(covered, sets, strict=True):
            row[list(chosen)] = 1.0
        labels = [" + ".join(self.targets[t] for t in chosen) or "nothing" for chosen in sets]
        position = {target: t for t, target in enumerate(self.targets)}
        constraints = [
            Constraint(
                {
                    label: float(sum(weight * row[position[t]] for t, weight in c.weights.items()))
                    for label, row in zip(labels, covered, strict=True)
                },
                c.at_least,
                c.at_most,
                c.name,
            )
            for c in self.constraints
        ]
        defender = covered * self.defender_covered + (1 - covered) * self.defender_uncovered
        attacker = covered * self.attacker_covered + (1 - covered) * self.attacker_uncovered
        return FiniteGame(
            defender,
            attacker,
            labels,
            self.targets,
            known_value=self.known_value,
            **{**self._story, "constraints": constraints},
        )

    def normalised(self) -> SecurityGame:
        """Return the game in units in which both sides' payoffs span [0, 1]."""
        defender = np.concatenate([self.defender_covered, self.defender_uncovered])
        attacker = np.concatenate([self.attacker_covered, self.attacker_uncovered])
        known = self.known_value
        return SecurityGame(
            to_unit(self.defender_covered, defender),
            to_unit(self.defender_uncovered, defender),
            to_unit(self.attacker_covered, attacker),
            to_unit(self.attacker_uncovered, attacker),
            self.resources,
            self.targets,
            known_value=None if known is None else float(to_unit(np.array(known), defender)),
            **self._story,
        )

    def __repr__(self) -> str:
        n, r = len(self.targets), self.resources
        label = f"{self.name!r}, " if self.name else ""
        size = f"{n} target{'s' * (n > 1)}, {r} resource{'s' * (r > 1)}"
        return f"SecurityGame({label}{size}: {few(self.targets)})"
