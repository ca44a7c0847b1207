from components.llms.scripted import Scripted
from components.refiners.combined import Combined
from components.refiners.headings import PrependedHeadings
from components.refiners.near_duplicates import WithoutNearDuplicates
from components.refiners.none import NoRefiner
from tests.contracts.component_contract import ComponentContract

KNOWN = {"dedupe": WithoutNearDuplicates(), "headings": PrependedHeadings()}


class TestNoRefiner(ComponentContract):
    component = NoRefiner()

    def test_empty_refiner_option_has_no_steps(self) -> None:
        assert NoRefiner().steps == ()


class TestCombined(ComponentContract):
    component = Combined(Scripted(), KNOWN, ("headings",))

    def test_combined_steps_keep_the_named_order(self) -> None:
        assert Combined(Scripted(), KNOWN, ("headings", "dedupe")).steps == (KNOWN["headings"], KNOWN["dedupe"])

    def test_combined_refiner_rejects_unknown_and_missing_names(self) -> None:
        assert Combined(Scripted(), KNOWN, ("tables",)).check() == [
            "use: got 'tables', expected one of dedupe, headings"
        ]
        assert Combined(Scripted(), KNOWN, ()).check() != []
