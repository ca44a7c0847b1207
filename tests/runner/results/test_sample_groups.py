import pytest

from runner.results import too_few_groups


@pytest.mark.parametrize(
    ("n", "n_effective", "text"),
    [
        (4, 4.0, "too few groups of samples (4) to tell"),
        (20, 19.6, "too few groups of samples (20) to tell"),
        (20, 5.2, "too few groups of samples (20, effectively 5) to tell"),
        (1_200, 6.0, "too few groups of samples (1,200, effectively 6) to tell"),
    ],
)
def test_too_few_groups_text_reports_their_effective_number(n: int, n_effective: float, text: str) -> None:
    assert too_few_groups(n, n_effective) == text
