from components.generators.single import Single
from tests.contracts.generator_contract import GeneratorContract


class TestSingle(GeneratorContract):
    component = Single()
