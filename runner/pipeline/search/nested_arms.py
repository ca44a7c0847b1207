"""Arms of a retriever and the arms within them."""

from collections.abc import Sequence

from components.protocols import Arm, LateInteractionArm, Retriever


def arms_and_candidates(retriever: Retriever) -> Sequence[Arm]:
    """Return the arms, each followed by those that find its candidates. Equal arms occur once."""
    arms: list[Arm] = []
    for arm in retriever.arms:
        nested = arm.candidates if isinstance(arm, LateInteractionArm) else ()
        arms += [candidate for candidate in (arm, *nested) if candidate not in arms]
    return arms
