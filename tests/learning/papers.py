"""`python -m tests.learning.papers > docs/learning/papers.md`: the five papers, item by item.

One line for every algorithm, theorem, lemma, figure and table. Numbers are quoted from the page
that is their home, so that they are written once; a test follows every name.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]

PAGES: Final = {
    "correlated": "docs/learning/correlated.md",
    "federated": "docs/learning/federated.md",
    "network": "docs/learning/network_dp.md",
    "pairwise": "docs/learning/pairwise.md",
    "personalised": "docs/learning/personalised.md",
    "privacy": "docs/privacy.md",
    "research": "docs/research/learning.md",
    "rows": "docs/learning/without-replacement.md",
    "torch": "docs/learning/torch.md",
    "two": "docs/learning/two-parties.md",
    "13": "specs/13-network-dp.md",
    "18": "specs/18-correlated-noise.md",
    "19": "specs/19-without-replacement.md",
    "20": "specs/20-personalised.md",
    "23": "specs/23-pairwise.md",
}
"""Where numbers are at home, by a short name."""


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence of a page by some of its words, or a row of a table by its first cell.

    A row is told from others of that name by the first cell of its head: "head | row".
    """

    page: str
    words: str


@dataclass(frozen=True, slots=True)
class Row:
    """One item of a paper: where it is, what tries it, what makes its number, and what differs.

    `where` is a module below `gopa.learning` and a name in it, `test` a file below
    `tests/learning` and a function, `command` what stands behind `python -m examples.`; from
    elsewhere all three are whole. `rule` is a numbered one of the specification.
    """

    item: str
    what: str
    where: str
    test: str = ""
    command: str = ""
    said: tuple[Said, ...] = ()
    rule: str = ""
    differs: str = ""


def _page(page: str, *words: str) -> tuple[Said, ...]:
    return tuple(Said(page, each) for each in words)


THESIS: Final[tuple[Row, ...]] = (
    Row("algorithm 2.1", "models and graph in turn", "personalised:fit_jointly",
        "personalised/test_graph.py::test_nothing_grows_in_turn", "personalised moons",
        rule="20-PM22"),
    Row("algorithm 2.2, (2.3)", "decentralised coordinate descent", "personalised:fit_descent",
        "personalised/test_objective.py::test_descent_ends_at_the_central_optimum",
        "personalised fig1", rule="20-PM5"),
    Row("algorithm 2.3", "Frank-Wolfe with few bytes", "personalised.descent:FrankWolfe",
        "personalised/test_frank_wolfe.py::test_bytes_grow_with_the_logarithm_of_predictors",
        "personalised moons", rule="20-PM24"),
    Row("algorithm 2.4, (2.8)", "learning the graph from random peers", "personalised:GraphLearner",
        "personalised/test_graph.py::test_graphs_end_at_the_central_optimum", "personalised moons",
        rule="20-PM18"),
    Row("(2.1)", "models and graph as one objective", "personalised:Collaboration",
        "personalised/test_objective.py::test_gradients_are_those_of_the_value", rule="20-PM1"),
    Row("(2.9)", "private coordinate descent", "personalised.descent:GradientNoise",
        "personalised/test_privacy.py::test_what_is_told_has_the_noise_that_is_charged",
        "personalised fig2", rule="20-PM11"),
    Row("proposition 2.1", "linear rate of descent", "personalised:fit_descent",
        "personalised/test_objective.py::test_descent_keeps_the_linear_rate",
        said=_page("research", "On 200 random problems"), rule="20-PM7"),
    Row("remark 2.2", "rate without strong convexity", "personalised:fit_descent",
        "personalised/test_objective.py::test_descent_without_strong_convexity", rule="20-PM8"),
    Row("proposition 2.2", "rate of Frank-Wolfe", "personalised.descent:FrankWolfe",
        "personalised/test_frank_wolfe.py::test_frank_wolfe_keeps_its_rate", rule="20-PM25",
        differs="holds without the factor 3"),
    Row("theorem 2.1", "linear rate of graph learning", "personalised:GraphLearner",
        "personalised/test_graph.py::test_graphs_keep_the_linear_rate", rule="20-PM19"),
    Row("proposition 2.3", "what private updates tell", "personalised:Accounts",
        "personalised/test_privacy.py::test_sensitivity_is_reached_and_never_exceeded",
        rule="20-PM12"),
    Row("theorem 2.2", "what privacy costs descent", "personalised:fit_descent",
        "personalised/test_objective.py::test_noise_costs_no_more_than_the_theorem_says",
        said=_page("research", "On two users with 20 numbers"), rule="20-PM14",
        differs="a factor p is missing in print, and noise is weighed the wrong way round"),
    Row("section 2.4.3", "privacy of the whole procedure", "personalised:BudgetShares",
        "personalised/test_graph.py::test_models_and_graph_together_keep_the_budget",
        rule="20-PM23"),
    Row("remark 2.5", "only the nearest users", "personalised:GraphSteps",
        "personalised/test_graph.py::test_the_farthest_are_forgotten", rule="20-PM21"),
    Row("figure 2.1", "accuracy by columns, with and without privacy", "personalised:Personalised",
        "personalised/test_page.py::test_working_together_pays_as_much_as_it_should",
        "personalised fig2", _page("research", "columns | 20", "columns | 100"), "20-PM17",
        "honest noise: the gain of private models at epsilon 0.15 did not reappear"),
    Row("figure 2.2", "four clusters of moons", "personalised:fit_jointly",
        "personalised/test_page.py::"
        "test_the_graph_of_moons_is_found_on_a_problem_that_no_setting_was_tried_on",
        "personalised moons", _page("research", "adjusted Rand index of spectral clusters",
            "oracle .899"),
        differs="users who draw rows of their own, and not the same ones turned; graphs are first "
        "learned from traits"),
    Row("figure 2.2", "what could be known of moons at all", "personalised:GraphLearner",
        "personalised/test_page.py::test_rows_tell_the_clusters_of_moons_and_labels_alone_do_not",
        "personalised known_moons", _page("research", "finds every cluster")),
    Row("table 2.1", "School and Computers", "personalised:Personalised",
        "personalised/test_page.py::test_small_figures", "personalised table21",
        _page("research", "Computers, linear", "Computers, boost", "School, linear",
              "School, boost"),
        differs="the last stump of a column is an intercept; buyers rate computers of their own"),
    Row("table 2.1", "HARWS and Vehicle", "personalised:Personalised",
        "personalised/test_page.py::test_the_table_is_made_of_files_of_the_right_shape",
        "personalised table21", _page("research", "are learned when their files are there"),
        differs="the files were not at hand: tried on made-up ones of their shape"),
    Row("table 2.1", "School, what users gain by pull and ridge", "personalised:Personalised",
        "personalised/test_page.py::test_school_is_divided_as_published", "personalised school",
        _page("research", "Personal before local is", "no pull reaches it"),
        differs="the printed margin of boosting did not appear"),
    Row("algorithm 3.1", "GoSta, statistics of pairs by gossip", "pairwise:estimates",
        "pairwise/test_gossip.py::test_runs_side_by_side_are_the_algorithms_as_they_are_written",
        "pairwise fig3.4", rule="23-P3"),
    Row("remark 3.2", "GoSta without a common clock", "pairwise:estimates",
        "pairwise/test_gossip.py::test_asynchronous_errors_fall_as_promised", "pairwise fig3.4",
        rule="23-P4"),
    Row("theorem 3.1", "its rate", "pairwise:expected_estimates",
        "pairwise/test_gossip.py::"
        "test_the_mean_of_many_runs_is_the_expectation_and_below_the_bound", rule="23-P8",
        differs="proved anew, with constants of its own"),
    Row("figure 3.1", "phantom graphs", "pairwise:expected_estimates",
        "pairwise/test_gossip.py::test_expectations_are_those_of_the_phantom_graphs", rule="23-P7"),
    Row("(3.4)-(3.5)", "losses of pairs: ranking, distances", "pairwise:MeanLoss",
        "pairwise/test_gossip.py::test_a_loss_is_convex_with_the_gradient_and_slope_it_says",
        rule="23-P9"),
    Row("section 3.2.1", "dual averaging in one place", "pairwise:Prox",
        "pairwise/test_gossip.py::test_a_prox_is_the_minimum_that_it_says", rule="23-P10",
        differs="the sign of the printed argmin"),
    Row("algorithm 3.2", "gossip dual averaging, both clocks", "pairwise:dual_averages",
        "pairwise/test_gossip.py::test_averages_side_by_side_are_those_of_the_text",
        "pairwise fig3.5", rule="23-P11"),
    Row("theorem 3.2", "its rate", "pairwise:dual_averages",
        "pairwise/test_gossip.py::test_the_gap_is_below_the_three_terms",
        said=_page("research", "The gap of Theorem 3.2"), rule="23-P12"),
    Row("algorithm 3.3, (3.8)", "private reports of cells", "pairwise:fit_local",
        "pairwise/test_local.py::test_no_report_tells_more_than_epsilon", "pairwise fig3.6",
        rule="23-P13", differs="the printed chance of the true cell"),
    Row("theorem 3.3", "variance of reports", "pairwise:exact_variance",
        "pairwise/test_local.py::test_the_variance_is_that_of_hoeffding_and_below_the_bound",
        said=_page("23", "It is exact, and far below Theorem 3.3"), rule="23-P16"),
    Row("theorem 3.4, corollary 3.1", "how many cells, and the error then",
        "pairwise.local:default_cells",
        "pairwise/test_local.py::test_errors_of_a_continuous_law_are_below_the_bound",
        rule="23-P15"),
    Row("remark 3.5", "gossip about reports", "pairwise:fit_pairwise",
        "pairwise/test_local.py::test_reports_travel_in_gossip", rule="23-P14"),
    Row("definition 3.2, figures 3.2, 3.3", "trees of counts, read from the root",
        "pairwise.ranking:CountTree",
        "pairwise/test_ranking.py::test_exact_trees_give_the_exact_number_of_pairs", rule="23-P19"),
    Row("theorem 3.5", "error of the private AUC", "pairwise.ranking:tree_error_bound",
        "pairwise/test_ranking.py::test_bits_of_all_levels_are_within_the_bound_of_their_theorem",
        "pairwise depth", _page("research", "cells | 2^10", "cells | 2^14"), "23-P20"),
    Row("theorem 3.6", "its rate, (epsilon, delta)", "pairwise:ranking_error_bound",
        "pairwise/test_ranking.py::test_the_bound_falls_as_theorem_3_6_says", "pairwise theorem3.6",
        _page("pairwise", "at epsilon 1, delta 10^-6, depth 10"), "23-P21"),
    Row("theorem 3.7", "two strangers at a time", "pairwise:PairError",
        "pairwise/test_two_party.py::test_the_corrected_theorem_is_an_equality",
        "pairwise_strangers fig3.7", _page("research", "n | 10,000 | 1"), "23-P27",
        "the printed term of privacy is half of what it is"),
    Row("section 3.3.4", "a computation of two parties", "gopa.twoparty:Garbler",
        "tests/twoparty/test_runs.py::test_both_learn_the_result", "pairwise_two_processes",
        _page("two", "Two strangers need"), "21-Y7"),
    Row("figure 3.4", "AUC by gossip, svmguide3", "pairwise:fit_pairwise",
        "pairwise/test_gossip.py::test_gossip_beats_its_rival_and_likes_short_ways",
        "pairwise fig3.4",
        _page("research", "graph | complete",
              "graph | small world (4 neighbours, 3 of 10 edges moved)", "graph | grid 35 x 35")),
    Row("figure 3.5", "learning to rank tumours", "pairwise:fit_dual_averaging",
        "pairwise/test_gossip.py::test_all_ways_lead_to_the_minimum", "pairwise fig3.5",
        _page("research", "Dual averaging alone, 683 rows", "The published .049"),
        differs="683 rows, those without gaps"),
    Row("figure 3.6", "private AUC of scores on diabetes130", "pairwise:fit_ranking",
        "pairwise/test_ranking.py::test_pruning_pays_where_trees_are_deep", "pairwise fig3.6",
        _page("research", "epsilon | 1"),
        differs="crowded scores: few cells cannot tell them apart"),
    Row("figure 3.7", "Kendall's tau of ratings", "pairwise:fit_two_party",
        "pairwise/test_two_party.py::test_one_answer_beats_reports_and_answers_of_all_pairs",
        "pairwise_strangers fig3.7",
        _page("pairwise", "One answer of each user is four to ten times closer"),
        differs="ratings are drawn from a law; the data of the thesis are not public"),
    Row("algorithm 4.1", "GOPA, verified sums", "gopa:LocalAggregator",
        "tests/protocol/rules/test_honest.py::test_honest_rounds_are_accepted", "averaging error",
        rule="04-P1"),
    Row("theorem 4.1, corollary 4.1", "its privacy with normal masks", "gopa.planning:guarantee",
        "tests/planning/test_thesis.py::test_theorem_rows", "bench privacy-table", rule="03-V15",
        differs="proved for exact integer laws, with uniform masks as well"),
    Row("table 4.1", "noise of masks and peers of each user", "bench.thesis:theorem_row",
        "tests/planning/test_thesis.py::test_theorem_rows", "bench privacy-table",
        _page("privacy", "At n = 10,000, epsilon = 0.1 and delta = 10^-7"), "03-V15",
        "the row of half the users follows another reading of the corollary"),
    Row("theorem 4.2", "a user who passes computed correctly", "gopa:audit",
        "tests/adversary/test_catalogue.py::test_attack_fails_and_is_caught_by_what_it_says",
        rule="11-V1"),
    Row("section 4.1.1", "federated averaging by sums", "federated:fedavg",
        "federated/test_training.py::test_fedavg_weighs_users_by_their_rows_or_all_alike",
        "federated cancer", _page("federated", "The same command with `houses`"), "22-F9"),
    Row("section 4.1.1", "federated averaging of networks, each user hidden", "torch:fedavg",
        "federated/test_updates.py::test_what_leaves_a_user_is_the_shortened_vector",
        "torch_fedavg digits",
        _page("torch", "`fedavg`, `ServerSGD(momentum=0.5)`: all 20 rows of a user hidden"),
        "22-F26"),
    Row("algorithm 4.2", "a sum around a ring", "network_dp:fit_sum",
        "network_dp/test_counting.py::test_noise_on_a_ring_is_as_stated", "network_privacy gain",
        rule="13-ND5", differs="as printed the last number has no noise"),
    Row("theorem 4.3", "its privacy", "network_dp:ring_epsilon",
        "network_dp/test_laws.py::test_the_closed_forms_are_above",
        said=_page("13", "The theorems above give less in all cases")),
    Row("remark 4.2", "noise that all share", "network_dp:fit_sum",
        "network_dp/test_counting.py::test_remark_4_2_leaves_too_little_noise",
        differs="as printed there is too little"),
    Row("algorithm 4.3", "a histogram around a ring", "network_dp:fit_histogram",
        "network_dp/test_counting.py::test_histograms_are_debiased_exactly",
        differs="the printed correction of the bias"),
    Row("theorem 4.4", "its privacy", "network_dp:ring_histogram",
        "network_dp/test_counting.py::test_histograms_stay_below_the_corrected_closed_form",
        differs="the printed exponent is inverted"),
    Row("algorithm 4.4", "a sum at random", "network_dp:fit_sum",
        "network_dp/test_counting.py::test_noise_of_a_walk_is_as_stated", "network_privacy gain",
        _page("network", "Twelve visits, epsilon 1")),
    Row("theorem 4.5", "its privacy", "network_dp:sum_law",
        "network_dp/test_laws.py::test_the_closed_forms_are_above", "network_privacy gain",
        rule="13-ND8", differs="the printed order has no constant; computed in numbers"),
    Row("algorithm 4.5", "descent by a token that walks", "network_dp:fit_sgd",
        "network_dp/test_descent.py::test_it_learns_what_gradient_descent_learns",
        "network_privacy fig41", rule="13-ND6",
        differs="slopes are cut off before the noise, not gradients behind it"),
    Row("theorem 4.6", "its privacy", "network_dp:sgd_law",
        "network_dp/test_laws.py::test_the_closed_form_of_descent_says_less_than_local_privacy",
        said=_page("13", "n = 2000, cap 12, D = 0.8, delta 10^-6 | theorem 3, one observer",
            "n = 2000, cap 12, D = 0.8, delta 10^-6 | local privacy"), rule="13-ND8",
        differs="the printed chance of one in n is not enough"),
    Row("proposition 4.1", "error of noisy descent", "network_dp:fit_sgd",
        "network_dp/test_laws.py::test_a_bound_of_proposition_4_1_holds",
        said=_page("13", "Proposition 4.1 is about gradients that are never left out")),
    Row("definition 4.2", "users who collude", "network_dp.laws:colluder_chance",
        "network_dp/test_laws.py::test_two_colluders_around_a_user_of_a_ring", rule="13-ND8",
        differs="one more than the printed number of colluders counts"),
    Row("figure 4.1", "descent on houses, three kinds of trust", "network_dp:fit_sgd",
        "network_dp/test_laws.py::test_noise_of_the_published_setting", "network_privacy fig41",
        _page("network", "epsilon | 10", "epsilon | 1"),
        differs="tight accounts; labels say east or west, as the data of the thesis do"),
    Row("chapter 5", "tokens on general graphs, several tokens", "network_dp:graph_law",
        "network_dp/test_laws.py::test_on_graphs_distance_hides", rule="13-ND13"),
    Row("chapter 5", "gossip of noisy numbers", "network_dp:fit_gossip",
        "network_dp/test_walks.py::test_messages_together_tell_more_than_their_sum",
        "averaging gossip"),
    Row("chapter 5", "averages inside groups of any size", "network_dp:fit_groups",
        "network_dp/test_walks.py::test_larger_groups_are_more_precise", "network_privacy groups",
        rule="13-ND14"),
    Row("chapter 5", "circuits of more than two", "gopa.twoparty:Builder",
        "tests/twoparty/test_page.py::test_why_not_more_than_two",
        said=_page("two", "A group of 16 needs"), differs="not built, and why"),
    Row("chapter 5", "whom somebody trusts", "gopa:plan",
        "tests/protocol/rules/test_honest.py::test_masks_stay_in_the_sum_where_parties_are_trusted",
        differs="in sessions, where parties are trusted to be curious only; not in walks"),
    Row("chapter 5", "graphs that fit the data", "gopa.graph:fitted_mixing",
        "tests/graph/test_mixing.py::test_neighbourhoods_come_as_close_to_the_whole_as_proved",
        "correlated topology", _page("correlated", "after a hundred steps the worst agent"),
        "17-G32"),
)  # fmt: skip

B17: Final[tuple[Row, ...]] = (
    Row("(4)-(6)", "block coordinate descent, asynchronous", "personalised:fit_descent",
        "personalised/test_objective.py::test_steps_that_do_not_meet_are_taken_together",
        "personalised fig1", rule="20-PM5"),
    Row("proposition 1", "its rate", "personalised:fit_descent",
        "personalised/test_objective.py::test_descent_keeps_the_linear_rate", rule="20-PM7"),
    Row("remark 2, figure 1", "against ADMM", "personalised:fit_admm",
        "personalised/test_objective.py::test_admm_ends_there_too", "personalised fig1",
        _page("research", "Poisson clocks, one gradient step", "in turn, ten gradient steps"),
        "20-PM10", "no penalty is printed; with the best one the advantage is smaller"),
    Row("theorem 1, lemma 1", "privacy of all that a user sends", "personalised:Accounts",
        "personalised/test_privacy.py::test_losses_compose_to_less_than_the_published_bounds",
        rule="20-PM13", differs="the printed norm of Lipschitz losses is the wrong one"),
    Row("remarks 3, 5", "normal noise", "personalised.release:Mechanism",
        "personalised/test_privacy.py::test_full_transcripts_stay_below_epsilon", rule="20-PM12",
        differs="print lacks the number of rows"),
    Row("theorem 2, lemma 2", "what privacy costs", "personalised:fit_descent",
        "personalised/test_objective.py::test_the_printed_bounds_of_noise_are_too_small",
        rule="20-PM14", differs="as theorem 2.2 of the thesis"),
    Row("proposition 2, lemma 3", "noise that changes with time", "personalised.release:plan",
        "personalised/test_privacy.py::test_later_steps_deserve_more", rule="20-PM15",
        differs="the reverse of what is printed holds"),
    Row("(15), remark 4", "a private start, propagated", "personalised:private_alone",
        "personalised/test_privacy.py::test_a_private_start_is_charged_to_the_same_accounts",
        rule="20-PM17", differs="the printed noise is smaller than its claim needs"),
    Row("figure 2", "objective and accuracy with privacy", "personalised:Personalised",
        "personalised/test_page.py::test_small_figures", "personalised fig2",
        _page("research", "columns | 10"), "20-PM17", "as figure 2.1 of the thesis"),
    Row("figure 3", "accuracy by rows of a user", "personalised:Personalised",
        "personalised/test_page.py::test_small_figures", "personalised fig3",
        _page("personalised", "With a hundred columns, private models of epsilon 10")),
    Row("figure 4", "models of perturbed rows, the baseline", "gopa.noise:discrete_laplace",
        "personalised/test_page.py::test_small_figures", "personalised fig4"),
)  # fmt: skip

GADE: Final[tuple[Row, ...]] = (
    Row("algorithm 0", "descent on a network", "correlated:descend",
        "correlated/test_descent.py::test_mixing_keeps_the_sum", "correlated fig1", rule="18-C1"),
    Row("algorithm 1", "RSS, noise in states", "correlated.disguises:InStates",
        "correlated/test_descent.py::test_every_one_of_a_thousand_runs_comes_to_the_optimum",
        "correlated fig1", rule="18-C2"),
    Row("algorithm 2", "noise that sums to zero", "gopa.noise:zero_sum",
        "correlated/test_descent.py::test_noise_sums_to_zero_in_every_step_as_integers",
        rule="18-C3"),
    Row("algorithm 3, assumption 4", "RSS-LB, balanced by each agent", "correlated:descend",
        "correlated/test_descent.py::test_what_an_agent_balances_needs_equal_weights",
        rule="18-C4"),
    Row("algorithm 4", "function sharing", "correlated.disguises:InFunctions",
        "correlated/test_descent.py::test_four_agents_on_a_cycle_come_to_one_limit", rule="18-C5",
        differs="nothing can be claimed for it as differential privacy"),
    Row("lemmas 1, 4", "how far agents are apart", "correlated:spread_bound",
        "correlated/test_descent.py::test_agents_stay_as_close_as_the_bound_says",
        said=_page("18", "their Lemmas 1 and 4 have the same form"),
        differs="by the spectral gap, with smaller constants"),
    Row("lemmas 2, 3, 5", "how close agents come, step by step", "correlated:disguised_bound",
        "correlated/test_bounds.py::test_every_run_stays_below_the_bound", "correlated bounds",
        _page("correlated", ' | `"dgd"`', ' | `"rss"`', ' | `"rss-lb"`'), "18-C11",
        "as numbers beside runs, where print has only that they are finite"),
    Row("theorems 1, 2", "every run comes to the optimum", "correlated:fit_correlated",
        "correlated/test_descent.py::test_runs_come_to_the_optimum_of_real_data", rule="18-C2"),
    Row("figure 1", "four agents on a cycle", "correlated:fit_correlated",
        "correlated/test_descent.py::test_noise_costs_iterations", "correlated fig1",
        _page("research", "The four agents of Gade and Vaidya"),
        differs="50 against 20 did not appear"),
    Row("section 6.2", "digits by logistic regression, shared functions of spurious rows",
        "correlated.disguises:InFunctions",
        "test_experiments.py::test_every_figure_is_made", "correlated digits",
        _page("correlated", '`method`, noise | `"dgd"`', '`method`, noise | `"functions"`, 0.1',
            '`method`, noise | `"functions"`, 1'),
        differs="no number is printed; both ends of an edge share one function"),
    Row("section 6.1", "privacy, announced for later", "correlated:disclosure",
        "correlated/test_disclosure.py::test_the_bound_is_above_the_exact_view_and_close_to_it",
        "correlated disclosure", _page("research", "Exact views of quadratic functions"), "18-C6"),
)  # fmt: skip

JIN: Final[tuple[Row, ...]] = (
    Row("algorithm 1", "SGD without replacement", "without_replacement:fit_without_replacement",
        "without_replacement/test_descent.py::test_every_row_is_visited_once",
        "without_replacement table2", rule="19-J2"),
    Row("algorithm 2", "deep Q-learning decides", "without_replacement:DeepQ",
        "without_replacement/test_descent.py::"
        "test_decisions_of_deep_q_learning_show_more_than_was_claimed",
        "without_replacement table2", rule="19-J4",
        differs="no privacy is claimed for it; a coin that reads no data is the default"),
    Row("lemmas 1, 2, 3", "steps do not spread models", "without_replacement:OneVsAll",
        "without_replacement/test_descent.py::test_what_does_not_fit_is_refused",
        differs="as steps that are refused: longer ones would spread them"),
    Row("lemma 4", "what a row moves", "without_replacement:fit_without_replacement",
        "without_replacement/test_descent.py::test_a_row_moves_the_public_model_by_what_is_charged",
        rule="19-J5"),
    Row("theorem 1", "normal noise", "without_replacement:noise_for",
        "without_replacement/test_descent.py::test_what_noise_costs",
        differs="the exact curve; print uses a formula beyond where it holds"),
    Row("theorem 2", "privacy of a run", "without_replacement:fit_without_replacement",
        "without_replacement/test_descent.py::test_public_models_show_no_more_than_was_asked_for",
        said=_page("rows", "The paper calibrates each of ten models"), rule="19-J5",
        differs="ten models of a run count together here"),
    Row("theorem 3", "rate for convex losses", "without_replacement:gap_bound",
        "without_replacement/test_descent.py::test_the_gap_is_below_the_bound", rule="19-J7",
        differs="print lacks the width of the noise"),
    Row("theorem 4", "rate with strong convexity", "without_replacement:fit_without_replacement",
        "without_replacement/test_descent.py::test_strong_convexity_brings_models_together",
        rule="19-J7"),
    Row("table I, figures 1, 2", "Covertype", "without_replacement:fit_without_replacement",
        "test_experiments.py::test_every_figure_is_made", "without_replacement table1",
        _page("rows", "`table1`, `fig1` and `fig2` are those on Covertype"),
        differs="the file was not at hand: the commands were tried on made-up ones of its shape"),
    Row("table II, convex", "digits", "without_replacement:fit_without_replacement",
        "test_experiments.py::test_every_figure_is_made", "without_replacement table2",
        _page("rows", "loss without a ridge | always public, no noise",
            "loss without a ridge | deep Q-learning, epsilon 1", "loss without a ridge | always "
        "public, epsilon 1"), "19-J8", "fewer images, and one pass over them"),
    Row("table II, strongly convex", "digits, with a ridge",
        "without_replacement:fit_without_replacement",
        "test_experiments.py::test_every_figure_is_made", "without_replacement table2",
        _page("rows", "loss with a ridge of 0.0001 | always public, no noise",
            "loss with a ridge of 0.0001 | deep Q-learning, epsilon 1", "loss with a ridge of "
        "0.0001 | always public, epsilon 1"), "19-J8", "the steps are not in print"),
    Row("figures 3, 4", "digits by epsilon, and the baseline",
        "without_replacement:fit_with_replacement",
        "without_replacement/test_descent.py::test_the_baseline_visits_every_row_five_times",
        "without_replacement fig3", _page("rows", "With ten nodes and the exact curve"), "19-J6"),
)  # fmt: skip

PAPERS: Final[dict[str, tuple[str, tuple[Row, ...]]]] = {
    "thesis": (
        """A. Bellet, Contributions to Decentralized and Privacy-Preserving Machine Learning,
habilitation thesis, 2021, chapters 2 to 5""",
        THESIS,
    ),
    "personalised": (
        """A. Bellet, R. Guerraoui, M. Taziki, M. Tommasi, Fast and Differentially Private
Algorithms for Decentralized Collaborative Machine Learning, 2017""",
        B17,
    ),
    "gade": ("S. Gade, N. H. Vaidya, Private Learning on Networks: Part II, 2017", GADE),
    "jin": (
        """R. Jin, X. He, H. Dai, Decentralized Differentially Private Without-Replacement
Stochastic Gradient Descent""",
        JIN,
    ),
}
"""What a paper is called, and its table."""

_HEAD: Final = """# The papers, line by line

Every algorithm, theorem, lemma, figure and table of the five papers that learning here follows:
where it is, which test tries it, which command makes its number, what came out beside print, and
what differs. For whoever reads one of the papers and wants to see or check a part of it. Made by
`python -m tests.learning.papers > docs/learning/papers.md`; numbers are quoted from the page that
is linked, where they are at home, with what they depend on.

Modules are those of `gopa.learning`, tests those of `tests/learning` and commands those of `python
-m examples.` where nothing else is said. Remarks that only comment are left out, and so are
definitions that every page uses. The slides of the thesis' defence have nothing that the thesis
does not have.
"""


@cache
def text_of(page: str) -> str:
    """The text of a page."""
    return (ROOT / PAGES[page]).read_text()


def quoted(said: Said) -> str:
    """What a page says with these words: one sentence, or a row of a table with its heads.

    `ValueError` where nothing, or more than one thing, is said so.
    """
    text = text_of(said.page)
    found = list(_rows(text, said.words)) or [
        each for each in _sentences(text) if said.words in each
    ]
    if len(found) != 1:
        raise ValueError(f"{len(found)} times on {PAGES[said.page]}: {said.words}")
    return found[0]


def _rows(text: str, words: str) -> Iterator[str]:
    """The rows of tables that begin with these cells, each number behind its head."""
    *head, first = words.split(" | ")
    cells = [*head[1:], first]
    for table in re.findall(r"^\|.*\n\|---.*\n(?:\|.*\n)+", text, re.MULTILINE):
        heads, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]]
                           for line in table.splitlines())  # fmt: skip
        if head and heads[0] != head[0]:
            continue
        for row in rows:
            if row[: len(cells)] == cells:
                named = [f"{one} {other}".strip() for one, other in zip(heads, row, strict=True)]
                key = named if row[0][0].isdigit() else row
                yield f"{', '.join(key[: len(cells)])}: {', '.join(named[len(cells) :])}"


def _sentences(text: str) -> Iterator[str]:
    """The sentences of paragraphs and of items of lists, without links and marks."""
    plain = re.sub(r"^```.*?^```|^\|[^\n]*$|^#[^\n]*$", "", text, flags=re.MULTILINE | re.DOTALL)
    for part in re.split(r"\n\s*\n|\n(?=[*-] )", plain):
        joined = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(part.split()))
        yield from _END.split(joined.removeprefix("* ").removeprefix("- "))


_END: Final = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][)*])|(?<=[.!?]\*\*)|(?<=∎)) (?=[A-Z`*(])")
"""Of a sentence, in brackets or not, of a name in bold or italics, or of a proof."""


def page() -> Iterator[str]:
    """All lines of the page."""
    yield _HEAD
    for title, rows in PAPERS.values():
        yield f"## {' '.join(title.split())}\n"
        yield "| in print | what | where | test | command | number beside print | differs |"
        yield "|---|---|---|---|---|---|---|"
        for row in rows:
            yield f"| {' | '.join(_cells(row))} |"
        yield ""


def _cells(row: Row) -> Iterator[str]:
    yield from (row.item, row.what)
    yield f"`{row.where.replace(':', ' ')}`"
    yield f"`{row.test}`" if row.test else ""
    yield f"`{row.command}`" if row.command else ""
    home = f"<br>[page]({_link(PAGES[row.said[0].page])})" if row.said else ""
    yield "<br>".join(quoted(each).replace("|", chr(92) + "|") for each in row.said) + home
    rule = f"[{row.rule}]({_link(_spec_of(row.rule))})" if row.rule else ""
    yield "; ".join(filter(None, (row.differs, rule)))


def _spec_of(rule: str) -> str:
    """The page of a numbered rule."""
    (found,) = (ROOT / "specs").glob(f"{rule[:2]}-*.md")
    return f"specs/{found.name}"


def _link(path: str) -> str:
    return (
        path.removeprefix("docs/learning/")
        if "docs/learning" in path
        else (f"../../{path}" if path.startswith("specs") else f"../{path.removeprefix('docs/')}")
    )


if __name__ == "__main__":
    sys.stdout.write("\n".join(page()))
