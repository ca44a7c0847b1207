from components.llms.rehearsal.model import Rehearsal
from components.records import AnswerState
from tests.contracts.llm_contract import LLMContract, request


class TestRehearsal(LLMContract):
    component = Rehearsal()


def test_rehearsal_rejects_a_prompt_of_no_known_role() -> None:
    (answer,) = Rehearsal().generate([request("问？", ("甲",))])
    assert answer.state is AnswerState.ERROR
    assert "Use a real model." in answer.error


def test_rehearsal_rejects_a_flawed_share_above_one() -> None:
    assert Rehearsal(flawed_share=1.1).check() == ["flawed_share: got 1.1, expected a share in [0, 1]"]
    assert Rehearsal().check() == []
