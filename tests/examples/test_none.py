from components.examples.none import NoExamples
from tests.contracts.examples_contract import ExamplesContract


class TestNoExamples(ExamplesContract):
    component = NoExamples()
