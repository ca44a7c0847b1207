"""A query engine of LlamaIndex as a pipeline."""

from dataclasses import dataclass, field
from typing import ClassVar

from components.fields import user_code_metadata
from components.pipelines.called import Answering, CalledPipeline
from components.user_code.llama_index import engine_problems, load_engine_query


@dataclass(frozen=True)
class LlamaIndexPipeline(CalledPipeline):
    """A query engine at `engine`, such as my_app.engine:query_engine, or a function that returns one.

    It gets the question, without the earlier turns. The source nodes of its response are the passages. A
    `CustomQueryEngine` without source nodes does not say what it read.

    `parameters` are arguments of the function, which is called once. See `CalledPipeline` for failures, and
    `CallsUserCode` for the other fields.
    """

    engine: str = field(metadata=user_code_metadata("the engine"))

    path_field: ClassVar[str] = "engine"

    def problems(self) -> list[str]:
        """Return error messages for a missing package, and for a path that leads to no query engine."""
        return engine_problems(self.engine, self.parameters, "pipeline")

    def answering(self) -> Answering:
        """Return the function that queries the engine."""
        return load_engine_query(self.engine, self.parameters)
