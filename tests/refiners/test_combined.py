from components.llms.scripted import Scripted
from components.refiners.combined import Combined
from components.refiners.headings import PrependedHeadings
from components.refiners.near_duplicates import WithoutNearDuplicates
from components.refiners.none import NoRefiner
from tests.contracts.component_contract import ComponentContract

KNOWN = {"dedupe": WithoutNearDuplicates(), "headings": PrependedHeadings()}


class TestNoRefiner(ComponentContract):
    component = NoRefiner()

    def test_without_a_step(self) -> None:
        assert NoRefiner().steps == ()


class TestCombined(ComponentContract):
    component = Combined(Scripted(), KNOWN, ("headings",))

    def test_steps_are_in_the_order_in_which_they_are_named(self) -> None:
        assert Combined(Scripted(), KNOWN, ("headings", "dedupe")).steps == (KNOWN["headings"], KNOWN["dedupe"])

    def test_names_that_are_not_known_are_errors(self) -> None:
        assert Combined(Scripted(), KNOWN, ("tables",)).check() == [
            "use: got 'tables', expected one or more of dedupe, headings"
        ]
        assert Combined(Scripted(), KNOWN, ()).check() != []
