"""Player 1: sleeping experts by AdaNormalHedge, as differences of running totals.

An expert (s, i, j, σ) wakes in round s and bets that the forecasts of bin i are too low (σ = +) or
too high (σ = −) in coordinate j: its gain in a round is G = w_i(p)·σ·(h_j − p_j). With r half the
difference between its gain and the mixture's (gains lie in [−1, 1], AdaNormalHedge wants |r| ≤ 1;
on other spaces: gain differences over twice the widest coordinate), R = Σ r and C = Σ |r| over the
rounds in which it was awake, its weight is proportional to (Appendix of the paper)

    prior · ½(Φ(R+1, C+1) − Φ(R−1, C+1)),    Φ(R, C) = exp(max(0, R)² / 3C).

Because r does not depend on s, R and C of every start are differences of totals that are kept once:
a start is a snapshot of the totals. And because most experts of a round belong to bins in which the
forecast is not, what they all share is kept as two numbers.

Which starts are kept is the rule of the forecaster:

- ``"streaming"``: start s = odd·2^a for 4·2^a + 1 rounds, O(log t) of them at a time, all with the
  same prior, and start 1 for ever: what a start that has gone left behind is repaired by it. Every
  interval from s on contains an awake start in its first half, which costs a constant in the bound;
- ``"all"``: every round is a start, prior 1/s², the paper to the letter, O(t) work a round;
- ``"first"``: start 1 alone, calibrated over the whole time but not on every interval.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from stackcast._compiling import inner, out_of_line

if TYPE_CHECKING:
    import numpy.typing as npt

    from stackcast._validation import FloatArray

    IntArray = npt.NDArray[np.int64]

StartRule = Literal["streaming", "all", "first"]
START_RULES: tuple[StartRule, ...] = get_args(StartRule)

#: The permanent start's prior is e to this, where every start of the stream has prior 1: enough to
#: repair what starts leave behind when they go, too little to hold on to the past after a change
#: (measured from −8 to 12: long intervals suffer below 2, short ones above 8, and below 4 some
#: scores exceed twice those of all starts).
PERMANENT_LOG_PRIOR = 5.0

_STREAMING, _ALL, _FIRST = 0, 1, 2
_NEVER = np.iinfo(np.int64).max
_BATCH = 2048


class Experts(NamedTuple):
    """What Player 1 remembers: totals, and their snapshots at the starts that are awake.

    With N = n·m pairs of bin and coordinate, ``totals`` holds Σ G of each pair; Σ |r| of σ = + and
    of σ = −, each less what all experts share; Σ of the mixture's gain and of its size, which all
    share; and last the log of the total weight. A row of ``marks`` holds the same as it was at a
    start's first round, with its log prior last.
    """

    totals: FloatArray  # (3N + 3,)
    marks: FloatArray  # (slots, 3N + 3)
    starts: IntArray  # (slots, 2): first and last round in which it is awake; 0 for an empty slot
    seen: IntArray  # (n,): the last round in which a bin had weight


def new_experts(bins: int, dimension: int, rule: StartRule, rounds: int) -> Experts:
    """Return sleeping experts with room for at least ``rounds`` rounds."""
    slots, size = _slots(rule, rounds), 3 * bins * dimension + 3
    return Experts(
        np.zeros(size),
        np.zeros((slots, size)),
        np.zeros((slots, 2), dtype=np.int64),
        np.zeros(bins, dtype=np.int64),
    )


def with_room(experts: Experts, rule: StartRule, rounds: int) -> Experts:
    """Return the same experts with slots for at least ``rounds`` rounds in all."""
    have, need = len(experts.starts), _slots(rule, rounds)
    if need <= have:
        return experts
    if rule == "all":
        need = max(need, 2 * have)
    marks = np.zeros((need, experts.marks.shape[1]))
    starts = np.zeros((need, 2), dtype=np.int64)
    marks[:have], starts[:have] = experts.marks, experts.starts
    return Experts(experts.totals, marks, starts, experts.seen)


def _slots(rule: StartRule, rounds: int) -> int:
    if rule == "streaming":
        return 1 + 3 * max(rounds, 1).bit_length()
    return max(rounds, 1) if rule == "all" else 1


@inner
def wake(experts: Experts, t: int, rule: int) -> None:
    """Let the start of round ``t`` wake, and those whose time is over go."""
    out_of_line()
    if rule == _STREAMING:
        for slot in range(experts.starts.shape[0]):
            if experts.starts[slot, 1] < t:
                experts.starts[slot, 0] = 0
        if t == 1:
            _wake_in(experts, 0, t, _NEVER, PERMANENT_LOG_PRIOR)
        a = 0
        while (t >> a) & 1 == 0:
            a += 1
        # Starts odd·2^a come every 2·2^a rounds, so three slots hold those that overlap.
        _wake_in(experts, 1 + 3 * a + (t >> (a + 1)) % 3, t, t + (4 << a), 0.0)
    elif rule == _ALL:
        _wake_in(experts, t - 1, t, _NEVER, -2.0 * np.log(t))
    elif t == 1:
        _wake_in(experts, 0, t, _NEVER, 0.0)


@inner
def _wake_in(experts: Experts, slot: int, t: int, until: int, log_prior: float) -> None:
    out_of_line()
    experts.starts[slot, 0] = t
    experts.starts[slot, 1] = until
    for x in range(experts.totals.size - 1):
        experts.marks[slot, x] = experts.totals[x]
    experts.marks[slot, experts.totals.size - 1] = log_prior


@inner
def weigh(experts: Experts, z: FloatArray) -> None:
    """Write z_ij = Σ_s π(s,i,j,+) − π(s,i,j,−) (Section 4) into ``z``, an n·m vector."""
    out_of_line()
    last = experts.totals.size - 1
    # Exponents are taken relative to the last total weight. One round moves an exponent by less
    # than 2, so nothing overflows; only the end of a start's time can leave everything too small.
    shift = experts.totals[last]
    total = _accumulate(experts, shift, z)
    if not 1e-250 < total < 1e250:
        shift = _largest_exponent(experts)
        total = _accumulate(experts, shift, z)
    if total > 0.0:
        experts.totals[last] = shift + np.log(total)
        for x in range(z.size):
            z[x] /= total
    else:  # every weight is 0: the prior, which favours neither sign
        experts.totals[last] = 0.0
        for x in range(z.size):
            z[x] = 0.0


@inner
def _accumulate(experts: Experts, shift: float, z: FloatArray) -> float:
    """Add up the weights, relative to e^shift, over the starts; return their sum."""
    out_of_line()
    totals, starts = experts.totals, experts.starts
    bins, pairs = experts.seen.size, z.size
    width = 2 * (pairs // bins)
    capacity = max(_BATCH // width, 1)
    regret = np.empty(capacity * width)
    spread = np.empty(capacity * width)
    weight = np.empty(capacity * width)
    owner = np.empty(capacity, dtype=np.int64)
    for x in range(pairs):
        z[x] = 0.0
    total: float = 0.0
    filled = 0
    for slot in range(starts.shape[0]):
        if starts[slot, 0] == 0:
            continue
        marks = experts.marks[slot]
        lead = totals[3 * pairs] - marks[3 * pairs]
        base = totals[3 * pairs + 1] - marks[3 * pairs + 1] + 1.0
        offset = marks[3 * pairs + 2] - shift
        idle = 0
        for i in range(bins):
            if experts.seen[i] < starts[slot, 0]:
                idle += 1
                continue
            _fill(
                totals, marks, i, lead, base, offset, filled * width, regret, spread, weight, bins
            )
            owner[filled] = i
            filled += 1
            if filled == capacity:
                total += _flush(regret, spread, weight, owner, filled, width, z)
                filled = 0
        # The experts of bins without weight since the start are all alike, and cancel in z.
        total += idle * width * _weight(-lead, 3.0 * base, offset)
    rest: float = _flush(regret, spread, weight, owner, filled, width, z)
    return total + rest


@inner
def _fill(
    totals: FloatArray,
    marks: FloatArray,
    i: int,
    lead: float,
    base: float,
    offset: float,
    at: int,
    regret: FloatArray,
    spread: FloatArray,
    weight: FloatArray,
    bins: int,
) -> None:
    """Write R, 3(C+1) and log prior − shift of the 2m experts of one start and one bin."""
    out_of_line()
    pairs = totals.size // 3 - 1
    m = pairs // bins
    for j in range(m):
        x = i * m + j
        gain = totals[x] - marks[x]
        regret[at + j] = gain - lead
        regret[at + m + j] = -gain - lead
        spread[at + j] = 3.0 * (base + (totals[pairs + x] - marks[pairs + x]))
        spread[at + m + j] = 3.0 * (base + (totals[2 * pairs + x] - marks[2 * pairs + x]))
        weight[at + j] = offset
        weight[at + m + j] = offset


@inner
def _flush(
    regret: FloatArray,
    spread: FloatArray,
    weight: FloatArray,
    owner: IntArray,
    filled: int,
    width: int,
    z: FloatArray,
) -> float:
    """Turn a batch into weights, add their differences to z, and return their sum."""
    out_of_line()
    for x in range(filled * width):
        weight[x] = _weight(regret[x], spread[x], weight[x])
    m = width // 2
    total = 0.0
    for f in range(filled):
        for j in range(m):
            over, under = weight[f * width + j], weight[f * width + m + j]
            z[owner[f] * m + j] += over - under
            total += over + under
    return total


@inner
def _weight(r: float, spread: float, offset: float) -> float:
    """Return e^offset·(Φ(R+1) − Φ(R−1)) (without the factor ½ that all share)."""
    u = r + 1.0 if r > -1.0 else 0.0
    inverse = 1.0 / spread
    a = u * u * inverse
    # Φ(R+1) − Φ(R−1) = e^a (1 − e^−d); the second Φ is 1 for R below 1.
    d = 4.0 * r * inverse if r >= 1.0 else a
    exponent = offset + a
    size: float = _exp(exponent if exponent > -700.0 else -700.0) * _one_minus_exp(d)
    return size


@inner
def _largest_exponent(experts: Experts) -> float:
    out_of_line()
    totals = experts.totals
    n = totals.size // 3 - 1
    largest = -np.inf
    for slot in range(experts.starts.shape[0]):
        if experts.starts[slot, 0] > 0:
            marks = experts.marks[slot]
            lead = totals[3 * n] - marks[3 * n]
            base = totals[3 * n + 1] - marks[3 * n + 1] + 1.0
            for x in range(2 * n):
                gain = totals[x % n] - marks[x % n]
                r = (gain if x < n else -gain) - lead
                if r > -1.0:
                    spread = 3.0 * (base + (totals[n + x] - marks[n + x]))
                    largest = max(largest, marks[3 * n + 2] + (r + 1.0) ** 2 / spread)
    return largest if largest > -np.inf else 0.0


@inner
def _exp(x: float) -> float:
    """Return e^x for −700 ≤ x ≤ 700, written so that a loop over it uses vector instructions."""
    shifted = x * 1.4426950408889634 + 6755399441055744.0  # the last bits are the power of two
    k = shifted - 6755399441055744.0
    f = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10
    p = 2.505210838544172e-08 + f * 2.08767569878681e-09
    p = 2.755731922398589e-07 + f * p
    p = 2.7557319223985893e-06 + f * p
    p = 2.48015873015873e-05 + f * p
    p = 0.0001984126984126984 + f * p
    p = 0.001388888888888889 + f * p
    p = 0.008333333333333333 + f * p
    p = 0.041666666666666664 + f * p
    p = 0.16666666666666666 + f * p
    p = 0.5 + f * p
    p = 1.0 + f * p
    p = 1.0 + f * p
    bits = (np.float64(shifted).view(np.int64) << 52) + np.float64(p).view(np.int64)
    return np.int64(bits).view(np.float64)


@inner
def _one_minus_exp(d: float) -> float:
    """Return 1 − e^−d for 0 ≤ d ≤ 4/3 without cancellation, as E(2 − E) with E = 1 − e^(−d/2)."""
    x = -0.5 * d
    p = 7.647163731819816e-13 + x * 4.779477332387385e-14
    p = 1.1470745597729725e-11 + x * p
    p = 1.6059043836821613e-10 + x * p
    p = 2.08767569878681e-09 + x * p
    p = 2.505210838544172e-08 + x * p
    p = 2.755731922398589e-07 + x * p
    p = 2.7557319223985893e-06 + x * p
    p = 2.48015873015873e-05 + x * p
    p = 0.0001984126984126984 + x * p
    p = 0.001388888888888889 + x * p
    p = 0.008333333333333333 + x * p
    p = 0.041666666666666664 + x * p
    p = 0.16666666666666666 + x * p
    p = 0.5 + x * p
    p = 1.0 + x * p
    e = -x * p
    return e * (2.0 - e)


@inner
def learn(
    experts: Experts, t: int, z: FloatArray, weights: FloatArray, gap: FloatArray, per: float
) -> None:
    """Add round ``t`` to the totals.

    ``weights`` are the bins of the forecast, ``gap`` is the outcome less the forecast, and gains
    are divided by ``per``, twice the widest coordinate.
    """
    out_of_line()
    m = gap.size
    pairs = z.size
    totals = experts.totals
    mixture = 0.0
    for i in range(weights.size):
        if weights[i] > 0.0:
            for j in range(m):
                mixture += weights[i] * z[i * m + j] * gap[j]
    mixture /= per
    totals[3 * pairs] += mixture
    totals[3 * pairs + 1] += abs(mixture)
    for i in range(weights.size):
        if weights[i] > 0.0:
            experts.seen[i] = t
            for j in range(m):
                gain = weights[i] * gap[j] / per
                totals[i * m + j] += gain
                totals[pairs + i * m + j] += abs(gain - mixture) - abs(mixture)
                totals[2 * pairs + i * m + j] += abs(gain + mixture) - abs(mixture)
