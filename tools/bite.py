"""Show that the theorem tests bite: break a formula, see the test that guards it fail.

Every break is made in a copy of the project; the working tree is not touched. Prints a line for
each break and ends with exit code 1 if a test passed all the same. Usage: ``make bite`` or
``python tools/bite.py [WORD…]`` for the breaks whose description contains one of the words.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Break:
    """One formula broken on purpose, and the test that must notice."""

    what: str
    file: str
    right: str
    wrong: str
    test: str
    also: tuple[tuple[str, str], ...] = ()  # further replacements in the same file


BREAKS = [
    Break(
        "solver: a best-response row with its sign turned",
        "solvers/_programs.py",
        "row[x] = W[x, j] - W[x, y] + lead",
        "row[x] = W[x, y] - W[x, j] + lead",
        "solvers/test_stackelberg.py::test_equals_one_program_per_action",
    ),
    Break(
        "solver: actions given up although they could still win",
        "solvers/_programs.py",
        "if prune and top <= floor:",
        "if prune and top <= floor + 0.05:",
        "solvers/test_stackelberg.py::test_equals_one_program_per_action",
        # Without this check the answer would be found out as unsure and left to HiGHS.
        (("            if bound <= floor + CERTIFIED:\n", "            if True:\n"),),
    ),
    Break(
        "solver: zero-sum games, the search stops after the first action",
        "solvers/_programs.py",
        "    for _ in range(k):\n        y = int(np.argmax(top))",
        "    for _ in range(1):\n        y = int(np.argmax(top))",
        "solvers/test_stackelberg.py::test_zero_sum_games_give_the_minimax_value",
        (("status = np.full(k, UNSURE)", "status = np.full(k, 1)"),),
    ),
    Break(
        "solver: dominated actions within 1e-9 taken for best responses",
        "solvers/_programs.py",
        "FEASIBLE = 1e-13",
        "FEASIBLE = 3.0",
        "solvers/test_stackelberg.py::test_a_dominated_action_changes_nothing",
    ),
    Break(
        "solver: a tolerance that depends on the user's units",
        "solvers/_programs.py",
        "            frame[x, y] /= scale\n",
        "            frame[x, y] /= 1.0\n",
        "solvers/test_stackelberg.py::test_units_move_the_value_and_nothing_else",
    ),
    Break(
        "solver: the value of committing below that of not committing",
        "solvers/stackelberg.py",
        "objective[at_v] = -1.0",
        "objective[at_w] = -1.0",
        "solvers/test_stackelberg.py::test_commitment_is_worth_at_least_every_nash_equilibrium_and_maximin",
    ),
    Break(
        "margin: normals not projected onto the hull",
        "solvers/_programs.py",
        "    return frame, frame - mean, 2 * scale\n",
        "    return frame, frame - 0 * mean, 2 * scale\n",
        "solvers/test_regions.py::test_the_margin_is_attained",
    ),
    Break(
        "margin: half of what was asked",
        "solvers/_programs.py",
        "                lead[y, j] *= length",
        "                lead[y, j] *= 0.5 * length",
        "solvers/test_stackelberg.py::test_margins_keep_every_nearby_forecast_on_the_response",
    ),
    Break(
        "margin: actions without a region counted as neighbours",
        "solvers/regions.py",
        "            if not self.never_best(one)[nearest]:",
        "            if True:",
        "solvers/test_regions.py::test_an_action_without_a_region_is_no_neighbour",
    ),
    Break(
        "margin: a robust commitment counts on the better duplicate",
        "solvers/_programs.py",
        "        if j != y and apart <= TIE and worse > 0.0:",
        "        if False:",
        "solvers/test_stackelberg.py::test_duplicates_of_the_response",
    ),
    Break(
        "sensitivity: one δ instead of two",
        "solvers/stackelberg.py",
        "slack = 2 * error / view.scale",
        "slack = error / view.scale",
        "solvers/test_stackelberg.py::test_sensitivity_brackets_every_perturbed_game",
    ),
    Break(
        "regions: balls that stick out",
        "games/spaces.py",
        "np.column_stack([self.inequality_rows, lengths])",
        "np.column_stack([self.inequality_rows, 0.5 * lengths])",
        "solvers/test_regions.py::test_inscribed_balls_are_in_their_regions_and_cannot_grow",
    ),
    Break(
        "regions: hit-and-run that favours one end of the chord",
        "games/_drawing.py",
        "(high - low) * rng.random()",
        "(high - low) * rng.random() ** 2",
        "solvers/test_regions.py::test_samples_stay_in_their_region_and_fill_it",
    ),
    Break(
        "regions: confidence intervals too narrow",
        "solvers/regions.py",
        "tail = (1 - confidence) / 2",
        "tail = 0.5 - 0.15 * confidence",
        "solvers/test_regions.py::test_volume_shares_cover_the_truth_as_often_as_they_say",
    ),
    Break(
        "learner: the odds count the distance from another facet",
        "principals/_posterior.py",
        "r = (highest - w[j]) * S[best, j] * sharp",
        "r = (highest - w[j]) * sharp",
        "principals/test_learner.py::test_the_odds_are_those_of_the_definition",
    ),
    Break(
        "learner: a slice that accepts what is less likely",
        "principals/_posterior.py",
        "if found > least:",
        "if found > least - 40.0:",
        "principals/test_learner.py::test_the_posterior_concentrates_on_an_exact_agent",
    ),
    Break(
        "learner: the maximin strategy never played",
        "principals/learner.py",
        "self._guarded = lost > (most / 2 if self._guarded else most)",
        "self._guarded = False",
        "principals/test_learner.py::test_no_agent_makes_it_earn_less_than_maximin_less_the_budget",
    ),
    Break(
        "learner: an average that moves like the strategy",
        "principals/learner.py",
        "share = L / max(self._t + L, 1)",
        "share = 1.0",
        "principals/test_learner.py::test_the_agent_that_averages_is_recognised_and_held",
    ),
    Break(
        "learner: corners of a smaller ball",
        "principals/learner.py",
        "math.sqrt((m - 1) / m))",
        "math.sqrt((m - 1) / m) / 2)",
        "principals/test_learner.py::test_corners_contain_the_ball",
    ),
    Break(
        "security: a level search without its floor",
        "solvers/security.py",
        "    return max(float(level), floor)\n",
        "    return float(level)\n",
        "games/test_security_game.py::test_level_search_agrees_with_linear_programs",
    ),
    Break(
        "continuous: the audit's bound without √m",
        "auditing/continuous.py",
        "bound += steep * math.sqrt(game.space.dimension) * float(errors.sum())",
        "bound += steep * float(errors.sum())",
        "principals/test_continuous_play.py::test_the_upper_bound_is_nearly_reached",
    ),
    Break(
        "continuous: the feedback lemma without the rounds with far forecasts",
        "auditing/continuous.py",
        "constants.lipschitz_best_response * (share * space.diameter + far)",
        "constants.lipschitz_best_response * far",
        "principals/test_continuous_play.py::test_the_upper_bound_and_the_lemmas_for_any_forecasts",
    ),
    Break(
        "continuous: answers that are no best responses left out of the bound",
        "auditing/continuous.py",
        "off = constants.lipschitz_response * found.response_distance",
        "off = 0.5 * constants.lipschitz_response * found.response_distance",
        "principals/test_continuous_play.py::test_answers_that_are_no_best_responses_are_in_the_bounds",
    ),
    Break(
        "continuous: tents of twice the radius",
        "calibration/cones.py",
        "np.zeros(1), 2.0 * self.spacing, 0",
        "np.zeros(1), 4.0 * self.spacing, 0",
        "principals/test_continuous_play.py::test_key_lemma_for_any_forecasts",
    ),
    Break(
        "continuous: a grid with holes",
        "calibration/cones.py",
        "sides = math.sqrt(3.0) * spacing * np.array",
        "sides = 2.0 * spacing * np.array",
        "games/test_spaces.py::test_the_grid_covers_and_the_tents_are_the_papers",
    ),
    Break(
        "outgoing: the pull with its sign turned",
        "calibration/_outgoing.py",
        "out[a] = x[a] - out[a] - scale * pull",
        "out[a] = x[a] - out[a] + scale * pull",
        "calibration/test_outgoing.py::test_no_outcome_gains_against_an_outgoing_fixed_point",
    ),
    Break(
        "lazy: a forecast that is kept a round too long",
        "agents/lazy.py",
        "slope * (t - self._played)",
        "slope * (t - self._played - 1)",
        "agents/test_separation.py::test_the_lazy_agent_keeps_its_budget_on_every_prefix_of_hostile"
        "_sequences",
    ),
    Break(
        "continuous: LazyGDwoG climbs down",
        "principals/gradient.py",
        "climbed = self._x + gamma",
        "climbed = self._x - gamma",
        "principals/test_continuous_play.py::test_the_lower_bound_with_exact_responses",
    ),
    Break(
        "continuous: LazyGDwoG with steps too long by m",
        "principals/gradient.py",
        "gamma = self._step * m**-0.5",
        "gamma = self._step * m**0.5",
        "principals/test_continuous_play.py::test_steps_and_regrets_of_the_letter_version",
    ),
    Break(
        "continuous: answers taken for fixed while the commitment moves",
        "principals/gradient.py",
        "result: FloatArray = mean + jacobian @ (at - x)",
        "result: FloatArray = mean + 0.0 * jacobian @ (at - x)",
        "principals/test_continuous_play.py::test_the_response_gradient_needs_a_hundredth_of_the_epochs",
        (("return in_strategy + jacobian.T @ in_response", "return in_strategy"),),
    ),
    Break(
        "continuous: stale differences believed",
        "principals/gradient.py",
        "            self._stale = True",
        "            self._stale = False",
        "principals/test_continuous_play.py::test_the_response_gradient_with_curved_responses",
    ),
    Break(
        "continuous: a Lipschitz constant of half the size",
        "games/families.py",
        "lipschitz_best_response=1.0 / kappa,\n        lipschitz_value=gap",
        "lipschitz_best_response=0.5 / kappa,\n        lipschitz_value=gap",
        "games/test_continuous_games.py::test_families_satisfy_the_assumption_and_their_gradients_are_right",
    ),
    Break(
        "continuous: a certificate that hardly looks",
        "solvers/concave.py",
        "return max(0.0, float(gradient @ (domain.argmax(gradient) - x)))",
        "return max(0.0, 1e-9 * float(gradient @ (domain.argmax(gradient) - x)))",
        "games/test_continuous_games.py::test_closed_form_optima",
    ),
    Break(
        "continuous: insets that reach the boundary",
        "games/spaces.py",
        "    return radius - inset\n",
        "    return radius\n",
        "games/test_spaces.py::test_a_projection_is_the_nearest_point_and_an_inset_keeps_its_distance",
    ),
    Break(
        "campaigns: a snapshot taken after the decision instead of before it",
        "campaigns/campaign.py",
        "        state = principal.state()\n        block = principal.commit()\n",
        "        block = principal.commit()\n        principal.committed = False\n"
        "        state = principal.state()\n",
        "campaigns/test_campaign.py::test_decisions_are_those_of_a_principal_that_is_never_interrupted",
    ),
    Break(
        "campaigns: decisions are not compared with those on record",
        "campaigns/campaign.py",
        '            if not (same and now.rounds == ask.body["rounds"] and ask.id in answers):',
        "            if ask.id not in answers:",
        "campaigns/test_campaign.py::test_another_version_starts_anew_and_knows_all_answers",
    ),
    Break(
        "campaigns: a correction leaves the snapshot",
        "campaigns/campaign.py",
        '            self._journal.rows("DELETE FROM snapshot")\n',
        "",
        "campaigns/test_campaign.py::test_what_is_asked_is_a_function_of_the_entries_that_stand",
    ),
    Break(
        "campaigns: counts told to the principal one action after the other",
        "campaigns/parsing.py",
        "np.lexsort((actions, place))",
        "np.lexsort((place, actions))",
        "campaigns/test_parsing.py::test_counts_are_spread_evenly_so_that_every_window_shows_the_same_shares",
    ),
    Break(
        "campaigns: a tell is acknowledged before it is written",
        "campaigns/journal.py",
        '            self._connection.execute("BEGIN IMMEDIATE")\n',
        "            if not self._connection.in_transaction:\n"
        '                self._connection.execute("BEGIN IMMEDIATE")\n',
        "campaigns/test_journal.py::test_killed_campaigns_end_as_if_nothing_had_happened",
        (
            (
                '                self._connection.execute("COMMIT")\n',
                "                if self._connection.total_changes % 4 == 0:\n"
                '                    self._connection.execute("COMMIT")\n',
            ),
        ),
    ),
    Break(
        "campaigns: what failed is not rolled back",
        "campaigns/journal.py",
        'self._connection.execute("ROLLBACK")',
        'self._connection.execute("COMMIT")',
        "campaigns/test_campaign.py::test_an_action_that_the_principal_cannot_use_changes_nothing",
    ),
    Break(
        "forecaster: the accuracy of few dimensions in many",
        "calibration/forecaster.py",
        "_FEW_DIMENSIONS = 5\n",
        "_FEW_DIMENSIONS = 100\n",
        "calibration/test_forecaster.py::test_many_coordinates_are_forecast_as_sharply_as_few",
    ),
    Break(
        "betting: no fixed share is given back",
        "calibration/_bankroll.py",
        "c = 1.0 / ((t + np.e) * np.log(t + np.e) ** 2)",
        "c = 0.0",
        "calibration/test_bankroll.py::test_imbalance_equals_the_literal_algorithm_and_every_bet_keeps_its_fixed_share",
    ),
    Break(
        "betting: outcomes may gain as much as against sleeping experts",
        "calibration/_rounds.py",
        "epsilon = accuracy / (t if rule == BETTING else np.sqrt(t))",
        "epsilon = (0.05 if rule == BETTING else accuracy) / np.sqrt(t)",
        "calibration/test_bankroll.py::test_no_outcome_earns_more_than_its_share_of_one_over_t",
    ),
    Break(
        "betting: bets of more than all that they hold",
        "calibration/_bankroll.py",
        "LARGEST, RATIO = 0.9, 1 / 3",
        "LARGEST, RATIO = 1.2, 1 / 3",
        "calibration/test_bankroll.py::test_no_bet_wins_more_than_its_price_on_any_interval",
    ),
    Break(
        "betting: forecasts that follow the bets instead of cancelling them",
        "calibration/_bankroll.py",
        "            z[i * m + j] = total",
        "            z[i * m + j] = -total",
        "calibration/test_bankroll.py::test_total_wealth_stays_within_its_bound_on_every_interval",
    ),
    Break(
        "betting: starting in the middle is free",
        "calibration/rates.py",
        "np.where(s > 1, np.log(s + math.e) + 2 * np.log(np.log(s + math.e)), 0.0)",
        "np.zeros_like(s)",
        "calibration/test_bankroll.py::test_second_order_ratio_equals_the_double_loop",
    ),
    Break(
        "betting: a curvature that is half of what it is",
        "calibration/rates.py",
        "(-np.log1p(-self.sizes) - self.sizes) / self.sizes**2",
        "0.25 * np.ones_like(self.sizes)",
        "calibration/test_bankroll.py::test_the_curvature_is_the_smallest_that_bounds_the_logarithm",
    ),
    Break(
        "diagrams: a band that right forecasts leave too often",
        "calibration/diagrams.py",
        "np.log(2 * count / level)",
        "np.log(0.5 * count / level)",
        "calibration/test_diagrams.py::test_right_forecasts_ever_leave_their_band_with_the_chance_that_is_stated",
    ),
    Break(
        "profile: errors that point the other way",
        "calibration/profile.py",
        "self.gap < 0",
        "self.gap > 0",
        "calibration/test_tables.py::test_which_way_the_forecasts_are_off",
    ),
    Break(
        "recalibration: the sides of a draw with each other's odds",
        "calibration/_recalibration_kernel.py",
        "chances[0] = -above / (below - above)",
        "chances[0] = below / (below - above)",
        "calibration/test_recalibration.py::test_no_outcome_earns_against_what_is_printed",
    ),
    Break(
        "recalibration: Brier bets of twice their size at the root",
        "calibration/_recalibration_kernel.py",
        "b = level - 0.5 * C * r[j] - z[j]",
        "b = level - C * r[j] - z[j]",
        "calibration/test_recalibration.py::test_no_outcome_earns_against_what_is_printed",
    ),
    Break(
        "recalibration: decisions that meet two by two only",
        "calibration/_recalibration_kernel.py",
        "for size in range(2, met.size + 1):",
        "for size in range(2, 3):",
        "calibration/test_recalibration.py::test_no_outcome_earns_against_what_is_printed",
    ),
    Break(
        "recalibration: bets in log loss that are bets in Brier score",
        "calibration/_recalibration_kernel.py",
        "odds = gap[0] / (p * (1.0 - p))",
        "odds = gap[0]",
        "calibration/test_recalibration.py::test_no_expert_gains_more_than_its_price_on_any_interval",
    ),
    Break(
        "recalibration: maps that are paid a tenth",
        "calibration/_bankroll.py",
        "step = gains[e] * (experts",
        "step = 0.1 * gains[e] * (experts",
        "calibration/test_recalibration.py::test_no_expert_gains_more_than_its_price_on_any_interval",
    ),
    Break(
        "recalibration: one side drawn for ever",
        "calibration/_recalibration_kernel.py",
        "z = key + np.uint64(ticket) * ",
        "z = key + np.uint64(0) * ",
        "calibration/test_recalibration.py::test_what_draws_let_the_bankroll_win_stays_within_its_bound",
    ),
    Break(
        "recalibration: groups whose bets are never paid",
        "calibration/_recalibration_kernel.py",
        "    for a in range(attributes):\n        bet(",
        "    for a in range(0 * attributes):\n        bet(",
        "calibration/test_recalibration.py::test_groups_are_calibrated_each_at_the_price_of_its_number",
    ),
    Break(
        "recalibration: little trust in the original",
        "calibration/recalibration.py",
        "BETS, BRIER, ORIGINAL = 0.5, 0.25, 0.4",
        "BETS, BRIER, ORIGINAL = 0.5, 0.25, 0.01",
        "calibration/test_recalibration.py::test_a_right_model_is_left_alone",
    ),
    Break(
        "recalibration: a deadline one forecast early",
        "calibration/recalibration.py",
        "+ self.deadline >= ticket",
        "+ self.deadline > ticket",
        "calibration/test_recalibration.py::test_forecasts_without_an_outcome_are_forgotten_at_their_deadline",
    ),
    Break(
        "campaigns: rounds of another strategy taken for an answer",
        "campaigns/campaign.py",
        "bool(np.linalg.norm(h - strategy) <= CLOSE)",
        "True",
        "campaigns/test_campaign.py::test_another_strategy_than_asked_is_kept_but_is_no_answer",
    ),
]


def bites(chosen: Break, folder: Path) -> bool:
    """Break the formula in a copy below ``folder`` and tell whether its test fails."""
    copy = folder / "copy"
    for part in ("src", "tests"):
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    file = copy / "src" / "stackcast" / chosen.file
    source = file.read_text()
    for right, wrong in ((chosen.right, chosen.wrong), *chosen.also):
        if right not in source:
            sys.exit(f"bite: {chosen.what}: {chosen.file} has no line {right.strip()!r}.")
        source = source.replace(right, wrong)
    file.write_text(source)
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            f"tests/{chosen.test}",
        ],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy / "src")},
        capture_output=True,
        check=False,
    )
    shutil.rmtree(copy)
    return result.returncode == 1


def main(words: list[str]) -> int:
    """Try the breaks that are asked for."""
    chosen = [b for b in BREAKS if not words or any(word in b.what for word in words)]
    blunt = 0
    with tempfile.TemporaryDirectory() as folder:
        for entry in chosen:
            sharp = bites(entry, Path(folder))
            blunt += not sharp
            print(f"{'bites' if sharp else 'MISSED'}  {entry.what}  [{entry.test}]", flush=True)
    return 1 if blunt else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
