"""Player 1 as a gambler: one bankroll that bets against the forecasts, at O(1) bets a round.

A bet e = (i, j, σ, δ) says that the forecasts of bin i are too low (σ = +) or too high (σ = −) in
coordinate j. A round multiplies what lies on it by

    f_e = 1 + σ·δ·x,    x = w_i(p)·(h_j − p_j)/width_j  in [−1, 1],

whose mean is 1 if the forecast is right. With the wealth W_e of all bets summing to one, the
imbalance that Player 2 has to hold is z_ij = Σ_δ δ·(W_(i,j,+,δ) − W_(i,j,−,δ))/width_j: if no
outcome earns more than ε_t = c/t against it, total wealth grows by ε_t in the mean, whatever the
outcome. After a round wealth is divided by its total, and each bet gives back

- the share c_t = 1/((t + e)·ln²(t + e)) of its wealth to the prior of all bets (a fixed share whose
  sum converges: it lets every interval start with a fair part and costs next to nothing);
- in the banks that are quick, the share a of its wealth to the prior of its own bank.

**Theorem.** For every bet of the bank with a = 0 and on every interval s..t of rounds,

    Σ ln f_e  ≤  ln(1/prior_e) + [s > 1]·(ln(s + e) + 2 ln ln(s + e)) + 1 + G,

where G = Σ ln(total) over s..t. *Proof*: before round s the bet holds at least c_(s−1)·prior_e (at
s = 1: prior_e). Each round multiplies it by f_e·(1 − c_τ)/total at least, it never holds more than
1, and Σ −ln(1 − c_τ) < .87. ∎ G is Ville's: with probability 1 − δ′, on every interval at once,
G ≤ ln(1/δ′) + ln s + 2 ln ln(s + e) + 1 + Σ ε_τ, because exp(G − Σ ε_τ) from s on is a
supermartingale (see :class:`~stackcast.calibration.SecondOrderRate` for what follows).

Experts whose forecasts of the whole outcome bet in every round (the maps of a recalibrator) hold a
part of the same wealth and share it in the same way: the theorem is theirs too.

**Cost.** A round changes the bets of the bins in which the forecast has weight. All others change
alike, so W_e = scale·v_e + offset·prior_e with one scale and one offset a bank, and a round touches
no bin but its own. Every so often the two are worked into v, which keeps them near 1 and 0: nothing
overflows, underflows or cancels in any number of rounds. Bins that nobody has seen yet hold their
part of the prior as one reserve.

References
----------
V. Vovk, G. Shafer, A. Takemura: Defensive forecasting. AISTATS 2005.
M. Herbster, M. Warmuth: Tracking the best expert. Machine Learning 32, 1998 (fixed share).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stackcast._compiling import leaf, out_of_line

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray

    IntArray = npt.NDArray[np.int64]


class Bank(NamedTuple):
    """A bank of bets: what it gives back of its own a round, its prior, how many sizes δ."""

    returned: float
    prior: float
    sizes: int


#: The banks, the largest size δ of a bet (below 1, so that no bet is ever ruined), the ratio of a
#: size to the one before it, and the constant c of ε_t = c/t, chosen by ``python -m benchmarks
#: betting``; ``docs/explanation/betting.md`` says what else was tried.
BANKS = (Bank(0.0, 0.6, 7), Bank(0.003, 0.2, 4), Bank(0.03, 0.2, 3))
LARGEST, RATIO = 0.9, 1 / 3
ACCURACY = 0.1

_NOBODY = np.zeros(0)

# Rows of `banks`.
_RETURNED, _PRIOR, SCALE, _OFFSET, _WEALTH, _RESERVE = range(6)

# How many rounds may pass, at least, before scale and offset are worked into v.
_SETTLE = 64


class Bankroll(NamedTuple):
    """The wealth of all bets, the banks that they belong to, and what their totals have grown by.

    With E sizes in all banks together, bet (i, j, σ, e) holds ``scale·v + offset·prior``; its prior
    is the share of the bin times the prior of the size over the 2m pairs of coordinate and side.
    """

    wealth: FloatArray  # (n, m, 2, E): v
    tilts: FloatArray  # (n, m, B): Σ_δ δ·(v⁺ − v⁻)/width_j within a bank
    sizes: FloatArray  # (E,): δ
    priors: FloatArray  # (E,): of a size, divided by 2m
    first: IntArray  # (B + 1,): where the sizes of a bank begin
    banks: FloatArray  # (6, B)
    shares: FloatArray  # (n + 1,): the prior of each bin, and last of the bins not seen yet
    growth: FloatArray  # (m + 1,): 1/width_j, and last Σ ln(total)
    experts: FloatArray  # (N, B): v of those who bet in every round
    expert_priors: FloatArray  # (N,): their priors, which with the shares sum to 1


def even_shares(bins: int, unknown: bool) -> FloatArray:
    """Return the prior of each bin, and last that of bins not seen yet (all if ``unknown``)."""
    if unknown:
        return np.append(np.zeros(bins), 1.0)
    return np.append(np.full(bins, 1 / max(bins, 1)), 0.0)


def new_bankroll(
    shares: FloatArray,
    widths: FloatArray,
    expert_priors: FloatArray = _NOBODY,
    kinds: tuple[Bank, ...] = BANKS,
    scale: tuple[float, float] = (LARGEST, RATIO),
) -> Bankroll:
    """Return the bankroll before the first round; all shares and priors sum to 1.

    ``scale`` is the largest size of a bet and the ratio of a size to the one before it.
    """
    m, bins = len(widths), len(shares) - 1
    first = np.cumsum([0, *(bank.sizes for bank in kinds)])
    sizes = np.concatenate([scale[0] * scale[1] ** np.arange(bank.sizes) for bank in kinds])
    priors = np.concatenate([np.full(b.sizes, b.prior / b.sizes) for b in kinds]) / (2 * m)
    banks = np.zeros((6, len(kinds)))
    banks[_RETURNED] = [bank.returned for bank in kinds]
    banks[_PRIOR] = banks[_WEALTH] = [bank.prior for bank in kinds]
    banks[SCALE] = banks[_RESERVE] = 1.0
    wealth = np.zeros((bins, m, 2, len(sizes)))
    wealth[:] = shares[:-1, None, None, None] * priors
    inverse = np.divide(1.0, widths, out=np.zeros(m), where=widths > 0)
    return Bankroll(
        wealth, np.zeros((bins, m, len(kinds))), sizes, priors, first, banks, shares,
        np.append(inverse, 0.0), np.outer(expert_priors, banks[_PRIOR]), expert_priors,
    )  # fmt: skip


def with_bins(bankroll: Bankroll, bins: int) -> Bankroll:
    """Return the same bankroll with room for so many bins."""
    more = bins - len(bankroll.wealth)
    room = [(0, more), (0, 0), (0, 0)]
    shares = np.concatenate([bankroll.shares[:-1], np.zeros(more), bankroll.shares[-1:]])
    return bankroll._replace(
        wealth=np.pad(bankroll.wealth, [*room, (0, 0)]),
        tilts=np.pad(bankroll.tilts, room),
        shares=shares,
    )


@leaf
def imbalance(bankroll: Bankroll, z: FloatArray) -> None:
    """Write z_ij into ``z``, an n·m vector: the offsets of the two sides cancel."""
    out_of_line()
    n, m, count = bankroll.tilts.shape
    for i in range(n):
        for j in range(m):
            total = 0.0
            for b in range(count):
                total += bankroll.banks[SCALE, b] * bankroll.tilts[i, j, b]
            z[i * m + j] = total


@leaf
def open_bin(bankroll: Bankroll, i: int, share: float, left: float) -> None:
    """Give a bin that is new its share of the reserve, of which so much is left."""
    out_of_line()
    bankroll.shares[i] = share
    bankroll.shares[-1] = left
    for b in range(bankroll.banks.shape[1]):
        for e in range(bankroll.first[b], bankroll.first[b + 1]):
            v = bankroll.banks[_RESERVE, b] * share * bankroll.priors[e]
            for j in range(bankroll.wealth.shape[1]):
                bankroll.wealth[i, j, 0, e] = v
                bankroll.wealth[i, j, 1, e] = v


@leaf
def bet(bankroll: Bankroll, i: int, weight: float, gap: FloatArray) -> None:
    """Let the bets of bin ``i`` win and lose what a round with this weight and gap brings."""
    out_of_line()
    wealth, tilts, sizes, priors, first, banks, shares, growth, _, _ = bankroll
    for j in range(gap.size):
        x = weight * gap[j] * growth[j]
        if x == 0.0:
            continue
        over, under = wealth[i, j, 0], wealth[i, j, 1]
        for b in range(banks.shape[1]):
            scale = banks[SCALE, b]
            common = banks[_OFFSET, b] / scale * shares[i]
            won, tilt = 0.0, 0.0
            for e in range(first[b], first[b + 1]):
                step = sizes[e] * x
                floor = common * priors[e]
                up = step * (over[e] + floor)
                down = step * (under[e] + floor)
                over[e] += up
                under[e] -= down
                won += up - down
                tilt += sizes[e] * (over[e] - under[e])
            banks[_WEALTH, b] += scale * won
            tilts[i, j, b] = tilt * growth[j]


@leaf
def bet_on_odds(bankroll: Bankroll, i: int, j: int, odds: FloatArray, x: float, p: float) -> None:
    """Let the bets of bin ``i`` on the odds of coordinate ``j`` win and lose what x brings.

    A bet is multiplied by (1 + x·g)/(1 + p·g); ``odds`` holds the g of every side and size.
    """
    out_of_line()
    wealth, _, _, priors, first, banks, shares, _, _, _ = bankroll
    for b in range(banks.shape[1]):
        common = banks[_OFFSET, b] / banks[SCALE, b] * shares[i]
        won = 0.0
        for side in range(2):
            for e in range(first[b], first[b + 1]):
                gain = (x - p) * odds[side, e] / (1.0 + p * odds[side, e])
                step = gain * (wealth[i, j, side, e] + common * priors[e])
                wealth[i, j, side, e] += step
                won += step
        banks[_WEALTH, b] += banks[SCALE, b] * won


def held(bankroll: Bankroll) -> FloatArray:
    """Return what every bet holds, an array (n, m, 2, E)."""
    bank = np.repeat(np.arange(bankroll.banks.shape[1]), np.diff(bankroll.first))
    priors = bankroll.priors * bankroll.shares[:-1, None, None, None]
    return bankroll.banks[SCALE, bank] * bankroll.wealth + bankroll.banks[_OFFSET, bank] * priors


@leaf
def holdings(bankroll: Bankroll, out: FloatArray) -> None:
    """Write what each expert holds in all banks together."""
    out_of_line()
    banks, experts, priors = bankroll.banks, bankroll.experts, bankroll.expert_priors
    common = 0.0
    for b in range(banks.shape[1]):
        common += banks[_OFFSET, b] * banks[_PRIOR, b]
    for e in range(priors.size):
        total = common * priors[e]
        for b in range(banks.shape[1]):
            total += banks[SCALE, b] * experts[e, b]
        out[e] = max(total, 0.0)


@leaf
def pay(bankroll: Bankroll, gains: FloatArray) -> None:
    """Multiply what expert e holds by 1 + gains[e], for all of them."""
    out_of_line()
    banks, experts, priors = bankroll.banks, bankroll.experts, bankroll.expert_priors
    for b in range(banks.shape[1]):
        common = banks[_OFFSET, b] / banks[SCALE, b] * banks[_PRIOR, b]
        won = 0.0
        for e in range(priors.size):
            step = gains[e] * (experts[e, b] + common * priors[e])
            experts[e, b] += step
            won += step
        banks[_WEALTH, b] += banks[SCALE, b] * won


@leaf
def settle_round(bankroll: Bankroll, t: int) -> None:
    """End round ``t``: divide by the total, give back, and keep the numbers in range."""
    out_of_line()
    banks, growth = bankroll.banks, bankroll.growth
    total = 0.0
    for b in range(banks.shape[1]):
        total += banks[_WEALTH, b]
    growth[-1] += np.log(total)
    c = 1.0 / ((t + np.e) * np.log(t + np.e) ** 2)
    extreme = False
    for b in range(banks.shape[1]):
        kept = (1.0 - c) / total
        given = kept * banks[_RETURNED, b] * banks[_WEALTH, b] + c * banks[_PRIOR, b]
        own = kept * (1.0 - banks[_RETURNED, b])
        banks[SCALE, b] *= own
        banks[_OFFSET, b] = own * banks[_OFFSET, b] + given / banks[_PRIOR, b]
        banks[_WEALTH, b] = own * banks[_WEALTH, b] + given
        extreme = extreme or not 1e-50 < banks[SCALE, b] < 1e50
    if extreme or t % max(_SETTLE, bankroll.wealth.shape[0]) == 0:
        _work_in(bankroll)


@leaf
def _work_in(bankroll: Bankroll) -> None:
    """Write every bet's wealth out, so that scales are 1 and offsets 0 again."""
    out_of_line()
    wealth, tilts, sizes, priors, first, banks, shares, growth, _, _ = bankroll
    n, m = tilts.shape[:2]
    for b in range(banks.shape[1]):
        scale, offset = banks[SCALE, b], banks[_OFFSET, b]
        banks[SCALE, b], banks[_OFFSET, b] = 1.0, 0.0
        left = shares[-1]
        banks[_RESERVE, b] = scale * banks[_RESERVE, b] + offset if left > 0.0 else 0.0
        total = banks[_RESERVE, b] * left * banks[_PRIOR, b]
        for e in range(bankroll.expert_priors.size):
            floor = offset * banks[_PRIOR, b] * bankroll.expert_priors[e]
            bankroll.experts[e, b] = max(scale * bankroll.experts[e, b] + floor, 0.0)
            total += bankroll.experts[e, b]
        for i in range(n):
            if shares[i] == 0.0:
                break
            for j in range(m):
                tilt = 0.0
                for e in range(first[b], first[b + 1]):
                    floor = offset * shares[i] * priors[e]
                    over = max(scale * wealth[i, j, 0, e] + floor, 0.0)
                    under = max(scale * wealth[i, j, 1, e] + floor, 0.0)
                    wealth[i, j, 0, e] = over
                    wealth[i, j, 1, e] = under
                    tilt += sizes[e] * (over - under)
                    total += over + under
                tilts[i, j, b] = tilt * growth[j]
        banks[_WEALTH, b] = total
