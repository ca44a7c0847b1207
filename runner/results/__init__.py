"""Results of sweeps: the public interface of this package for analyses, tests and scripts.

    <results_dir>/<sweep id>/sweep.json              the request, and the outcome of each cell
    <results_dir>/<sweep id>/leaderboard.csv         the cells, best first
    <results_dir>/<sweep id>/documents_<corpus>.parquet   the documents of a corpus that cells search
    <results_dir>/<sweep id>/<cell id>/cell.json     one cell: axes, configuration, metrics
    <results_dir>/<sweep id>/<cell id>/samples.parquet
    <results_dir>/<sweep id>/<cell id>/matrix_<metric>.csv, and .svg for some

A JSON file has one field per line. `cell.json` is written last, so a folder that has one is complete. Its `metrics` are
identical, byte for byte, whenever the same cell runs on the same data, interrupted or not. Its `seconds`,
`reused` and `host` may differ.
"""

from runner.console.spreadsheet_cells import escape as escape_cell
from runner.engine.plugins.trusted_packages import add_option, trust
from runner.results.cell_axes import (
    DATA_KEY,
    DRAWS,
    WHOLE_GOLD_ADVICE,
    are_draws,
    change_name,
    common_base,
    config_value,
    count_whole_gold,
    coupling_notes,
    format_level,
    identify_configuration,
    join_levels,
    varies_chunks,
)
from runner.results.cell_choice import (
    COMPARE_ALIKE,
    CONDITION,
    Choice,
    choose,
    is_bound,
    spans_conditions,
    without_bounds,
)
from runner.results.cell_result import (
    FAILED,
    INTERRUPTED,
    OK,
    RUNNING,
    STOPPED,
    CellResult,
    SweepResult,
    all_failed_text,
    name_stopper,
)
from runner.results.choice_wording import choice_text, race_winner_text, samples_text
from runner.results.costs import (
    CONTEXT_TOKENS,
    COSTS,
    PER_COST,
    TOKENS,
    Cost,
    answered_share,
    cheap_indices,
    cost_per_answer,
    count_tokens_per_sample,
    known_costs,
)
from runner.results.forensic_verdicts import sample_verdicts
from runner.results.hit_texts import CorpusTexts, corpus_texts, read_hits
from runner.results.indistinguishable_cells import MANY_CELLS, collect_group_scores, equal_groups, paired_test
from runner.results.joined_samples import (
    OWN_MEANS,
    CommonSamples,
    SampleReader,
    average_draws,
    common_means,
    common_samples,
    is_corpus_metric,
    mean_entry,
    put_most_samples_first,
)
from runner.results.leaderboard_order import COVERAGE, NO_QUALITY, headlines, rank_cells
from runner.results.live_sweep import KILLED, LiveSweep, read_live
from runner.results.loaded_sweep import (
    BEST,
    LoadedSweep,
    SubsetMetric,
    axis_levels,
    collect_labels,
    describe,
    find_metric,
    load,
    load_together,
    shown_axes,
    varying_axes,
)
from runner.results.metric_components import combiner, component_settings, depends_on_prompt, larger_is_better
from runner.results.option_sources import cell_command
from runner.results.partial_sweeps import NO_BEST, NO_EFFECTS, OPTIMISTIC, chose_by_scores, search_text
from runner.results.released_set import Testset
from runner.results.result_files import (
    RESULTS_DIR,
    cell_folders,
    documents_file,
    find_sweep,
    read_cell,
    read_cells,
    read_sweep,
    write_cell,
    write_leaderboard,
    write_sweep,
)
from runner.results.sample_groups import effective_groups_note, groups_note, too_few_groups
from runner.results.samples_file import (
    open_parquet,
    open_samples,
    read_column_names,
    read_columns,
    read_rows,
    read_samples,
)
from runner.results.scored_samples import (
    Labels,
    SampleKey,
    ScoredSamples,
    distinguishing_labels,
    is_turn_subset,
    read_scored,
)
from runner.results.set_files import read_testset
from runner.results.stand_ins import STAND_INS
from runner.results.timing import latency_noise

__all__ = [
    "BEST",
    "COMPARE_ALIKE",
    "CONDITION",
    "CONTEXT_TOKENS",
    "COSTS",
    "COVERAGE",
    "DATA_KEY",
    "DRAWS",
    "FAILED",
    "INTERRUPTED",
    "KILLED",
    "MANY_CELLS",
    "NO_BEST",
    "NO_EFFECTS",
    "NO_QUALITY",
    "OK",
    "OPTIMISTIC",
    "OWN_MEANS",
    "PER_COST",
    "RESULTS_DIR",
    "RUNNING",
    "STAND_INS",
    "STOPPED",
    "TOKENS",
    "WHOLE_GOLD_ADVICE",
    "CellResult",
    "Choice",
    "CommonSamples",
    "CorpusTexts",
    "Cost",
    "Labels",
    "LiveSweep",
    "LoadedSweep",
    "SampleKey",
    "SampleReader",
    "ScoredSamples",
    "SubsetMetric",
    "SweepResult",
    "Testset",
    "add_option",
    "all_failed_text",
    "answered_share",
    "are_draws",
    "average_draws",
    "axis_levels",
    "cell_command",
    "cell_folders",
    "change_name",
    "cheap_indices",
    "choice_text",
    "choose",
    "chose_by_scores",
    "collect_group_scores",
    "collect_labels",
    "combiner",
    "common_base",
    "common_means",
    "common_samples",
    "component_settings",
    "config_value",
    "corpus_texts",
    "cost_per_answer",
    "count_tokens_per_sample",
    "count_whole_gold",
    "coupling_notes",
    "depends_on_prompt",
    "describe",
    "distinguishing_labels",
    "documents_file",
    "effective_groups_note",
    "equal_groups",
    "escape_cell",
    "find_metric",
    "find_sweep",
    "format_level",
    "groups_note",
    "headlines",
    "identify_configuration",
    "is_bound",
    "is_corpus_metric",
    "is_turn_subset",
    "join_levels",
    "known_costs",
    "larger_is_better",
    "latency_noise",
    "load",
    "load_together",
    "mean_entry",
    "name_stopper",
    "open_parquet",
    "open_samples",
    "paired_test",
    "put_most_samples_first",
    "race_winner_text",
    "rank_cells",
    "read_cell",
    "read_cells",
    "read_column_names",
    "read_columns",
    "read_hits",
    "read_live",
    "read_rows",
    "read_samples",
    "read_scored",
    "read_sweep",
    "read_testset",
    "sample_verdicts",
    "samples_text",
    "search_text",
    "shown_axes",
    "spans_conditions",
    "too_few_groups",
    "trust",
    "varies_chunks",
    "varying_axes",
    "without_bounds",
    "write_cell",
    "write_leaderboard",
    "write_sweep",
]
