"""Counts of the answers in which the value of a secret variable was hidden, and the warning about them."""

from collections import Counter
from collections.abc import Iterator, Mapping

from runner.engine.outcome import StageRun
from runner.engine.stage import AnyStage
from runner.engine.store import Store


class HiddenAnswers:
    """Counts answers with a masked value among the inputs of a command's results."""

    def __init__(self) -> None:
        self._by_stage: dict[str, Mapping[str, int]] = {}

    def add(self, run: StageRun) -> None:
        """Count the answers of a stage that has just ended."""
        self._by_stage[run.key] = run.hidden

    def add_stored(self, result: AnyStage, store: Store) -> None:
        """Count the answers of the stored results behind a result, and of itself. Each result counts once."""
        for stage in result.upstream():
            if stage.key not in self._by_stage and (entry := store.find(stage.kind, stage.key)):
                self._by_stage[stage.key] = entry.manifest.hidden

    def lines(self) -> Iterator[str]:
        """Yield the warnings of `hidden_lines`."""
        return hidden_lines(sum(map(Counter, self._by_stage.values()), Counter()))


def hidden_lines(hidden: Mapping[str, int]) -> Iterator[str]:
    """Yield a warning for each variable whose value was hidden in answers. It does not show the value."""
    for variable, n in sorted(hidden.items()):
        yield (
            f"{n} {'answer' if n == 1 else 'answers'} of a model contained the value of {variable}, and "
            f"{'was' if n == 1 else 'were'} stored with *** in its place, which may change scores. If it is not a "
            "secret, unset or rename the variable, and ask again with another run.store_dir"
        )
