"""Random games: each function is a family, each seed a game of it.

The same arguments give the same game on every machine; the game's name and source say how to get
it again.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from stackcast._random import stream
from stackcast._validation import real_number, whole_number
from stackcast.games.game import FiniteGame
from stackcast.games.security import SecurityGame

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from stackcast._validation import FloatArray


def uniform(m: int, k: int, seed: int) -> FiniteGame:
    """Return a game whose payoffs are independent and uniform on [0, 1).

    Examples
    --------
    >>> uniform(2, 3, seed=0)
    FiniteGame('uniform-2x3-0', 2×3: row 1, row 2 × column 1, column 2, column 3)
    """
    rng = _sized_stream("uniform", m, k, seed)
    return _sized_game("uniform", rng.random((m, k)), rng.random((m, k)), seed)


def competing(m: int, k: int, seed: int) -> FiniteGame:
    """Return a game of mostly opposed interests: U_P = ¾(1 − U_A) + ¼ noise, all uniform.

    Examples
    --------
    >>> game = competing(20, 20, seed=0)
    >>> correlation = np.corrcoef(game.principal_payoffs.ravel(), game.agent_payoffs.ravel())
    >>> bool(correlation[0, 1] < -0.9)
    True
    """
    rng = _sized_stream("competing", m, k, seed)
    agent = rng.random((m, k))
    return _sized_game("competing", 0.75 * (1 - agent) + 0.25 * rng.random((m, k)), agent, seed)


def zero_sum(m: int, k: int, seed: int) -> FiniteGame:
    """Return a game with U_A = −U_P, U_P uniform on [−1, 1): V* is its minimax value.

    Examples
    --------
    >>> game = zero_sum(3, 3, seed=0)
    >>> bool((game.principal_payoffs == -game.agent_payoffs).all())
    True
    """
    principal = 2 * _sized_stream("zero_sum", m, k, seed).random((m, k)) - 1
    return _sized_game("zero_sum", principal, -principal, seed)


def covariant(m: int, k: int, seed: int, correlation: float) -> FiniteGame:
    """Return a game whose cells are independent pairs of standard normal payoffs.

    ``correlation`` is that of the two payoffs in a cell: −1 is zero-sum, 1 is common interest.

    Examples
    --------
    >>> game = covariant(2, 2, seed=0, correlation=1)
    >>> bool((game.principal_payoffs == game.agent_payoffs).all())
    True
    """
    rng = _sized_stream("covariant", m, k, seed)
    rho = real_number("correlation", correlation, at_least=-1, at_most=1)
    principal, other = rng.standard_normal((2, m, k))
    agent = rho * principal + np.sqrt(1 - rho**2) * other
    return _sized_game("covariant", principal, agent, seed, f", correlation={rho!r}")


def coordination(m: int, k: int, seed: int) -> FiniteGame:
    """Return a game in which both sides want to meet, each with its own favourite places.

    A cell pays each side a taste of its own, uniform on [0, ½), and 1 more where the row and the
    column have the same number.

    Examples
    --------
    >>> game = coordination(3, 3, seed=0)
    >>> game.respond(np.eye(3)).tolist()
    [0, 1, 2]
    """
    rng = _sized_stream("coordination", m, k, seed)
    principal, agent = np.eye(m, k) + rng.random((2, m, k)) / 2
    return _sized_game("coordination", principal, agent, seed)


def degenerate(m: int, k: int, seed: int) -> FiniteGame:
    """Return a game with many ties, of the kinds that break solvers.

    All payoffs are 0, ½ or 1. To that the seed adds any of: a duplicate column of the agent's
    payoffs, a column that is dominated by 1e-12 to 1, one that is dominated weakly, one that is
    constant, and two equal rows. The source says which.

    Examples
    --------
    >>> degenerate(3, 4, seed=0).source
    'stackcast.games.generators.degenerate(m=3, k=4, seed=0): ties, ...'
    """
    rng = _sized_stream("degenerate", m, k, seed)
    principal, agent = rng.integers(0, 3, (2, m, k)) / 2
    rows, (model, *free) = rng.permutation(m), rng.permutation(k)
    kinds = ["ties"]
    # Each kind takes a column of its own and refers to the same model, so that none undoes another.
    for kind in (
        "constant column",
        "duplicate column",
        "weakly dominated column",
        "dominated column",
    ):
        if not free or rng.random() < 0.5 or (kind == "weakly dominated column" and m == 1):
            continue
        column = agent[:, free.pop()]
        if kind == "constant column":
            column[:] = rng.integers(0, 3) / 2
        else:
            column[:] = agent[:, model]
        if kind == "weakly dominated column":
            column[rows[0]] -= 0.5
        elif kind == "dominated column":
            column -= 10.0 ** -rng.integers(0, 13)
        kinds.append(kind)
    if m > 2 and rng.random() < 0.5:
        principal[rows[1]], agent[rows[1]] = principal[rows[0]], agent[rows[0]]
        kinds.append("equal rows")
    return _sized_game("degenerate", principal, agent, seed, note=": " + ", ".join(kinds))


def one_resource_security(targets: int, seed: int) -> FiniteGame:
    """Return a game of a defender who guards one of the targets and an attacker who hits one.

    An attack on an unguarded target pays the attacker a_t, uniform on [½, 1), and δ_t less when it
    is guarded, δ_t uniform on [½, 1); the defender has likewise −d_t and −d_t + γ_t, with d_t
    uniform on [0, 1) and γ_t uniform on [0, d_t).

    Examples
    --------
    >>> one_resource_security(3, seed=0)
    FiniteGame('one_resource_security-3-0', 3×3: guard 1, guard 2, guard 3 × hit 1, hit 2, hit 3)
    """
    n = whole_number("targets", targets, at_least=1)
    rng = stream(seed, "games", "one_resource_security", n)
    reward, drop = 0.5 + rng.random((2, n)) / 2
    loss = rng.random(n)
    relief = loss * rng.random(n)
    return FiniteGame(
        np.diag(relief) - loss,
        reward - np.diag(drop),
        [f"guard {t + 1}" for t in range(n)],
        [f"hit {t + 1}" for t in range(n)],
        name=f"one_resource_security-{n}-{seed}",
        source=f"{__name__}.one_resource_security(targets={n}, seed={seed})",
    )


def security(targets: int, resources: int, seed: int) -> SecurityGame:
    """Return a security game in which both sides value the targets independently.

    An attack on target t pays the attacker a_t, uniform on [0, 1), and when it is covered −p_t, p_t
    uniform on [0, 1); the defender has −d_t and g_t, both uniform likewise.

    Examples
    --------
    >>> security(20, 4, seed=0)
    SecurityGame('security-20-4-0', 20 targets, 4 resources: target 1, target 2, target 3, …)
    """
    n = whole_number("targets", targets, at_least=1)
    rng = stream(seed, "games", "security", n, int(resources))
    reward, penalty, loss, gain = rng.random((4, n))
    return SecurityGame(
        gain,
        -loss,
        -penalty,
        reward,
        resources,
        name=f"security-{n}-{resources}-{seed}",
        source=f"{__name__}.security(targets={n}, resources={resources}, seed={seed})",
    )


def near_equal_security(targets: int, seed: int) -> SecurityGame:
    """Return a game of one resource whose targets are worth almost the same to both sides.

    The value of a target is uniform on [0.9995, 1): an attack on it pays the attacker that much and
    costs the defender as much, and nothing happens when it is covered. Zero-sum, with regions that
    differ by less than a thousandth: hard to learn by looking for hyperplanes.

    Examples
    --------
    >>> game = near_equal_security(5, seed=0)
    >>> bool((game.attacker_uncovered == -game.defender_uncovered).all())
    True
    """
    n = whole_number("targets", targets, at_least=1)
    value = 1 - 0.0005 * (1 - stream(seed, "games", "near_equal_security", n).random(n))
    zero = np.zeros(n)
    return SecurityGame(
        zero,
        -value,
        zero,
        value,
        1,
        name=f"near_equal_security-{n}-{seed}",
        source=f"{__name__}.near_equal_security(targets={n}, seed={seed})",
    )


#: The families of finite games by name; all but ``one_resource_security`` take m, k and a seed.
GENERATORS: Mapping[str, Callable[..., FiniteGame]] = MappingProxyType(
    {
        family.__name__: family
        for family in (
            uniform,
            competing,
            zero_sum,
            covariant,
            coordination,
            degenerate,
            one_resource_security,
        )
    }
)


#: The families of security games by name: targets, resources where there may be several, seed.
SECURITY_GENERATORS: Mapping[str, Callable[..., SecurityGame]] = MappingProxyType(
    {family.__name__: family for family in (security, near_equal_security)}
)


def _sized_stream(family: str, m: int, k: int, seed: int) -> np.random.Generator:
    whole_number("m", m, at_least=1)
    whole_number("k", k, at_least=1)
    return stream(seed, "games", family, int(m), int(k))


def _sized_game(
    family: str,
    principal: FloatArray,
    agent: FloatArray,
    seed: int,
    argument: str = "",
    note: str = "",
) -> FiniteGame:
    m, k = principal.shape
    return FiniteGame(
        principal,
        agent,
        name=f"{family}-{m}x{k}-{seed}",
        source=f"{__name__}.{family}(m={m}, k={k}, seed={seed}{argument}){note}",
    )
