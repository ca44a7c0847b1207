"""Search in a table of PostgreSQL, by custom SQL; see https://github.com/pgvector/pgvector."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.fields import runtime_only
from components.openai_server.access import read_api_key
from components.pretrained.model_folder import missing_package_errors
from components.records import IndexedText
from components.retrievers.existing_index import QUERY, TOP_K, VECTOR, ExistingIndex, with_dimensions
from components.secrets.mask import HIDDEN, mask_text, shorten_masked
from components.secrets.names import is_variable_name

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

_SHOWN_CHARACTERS = 300
_CONNECT_TIMEOUT_S = 10
_QUOTED = re.compile(r"'(?:[^']|'')*'")
_UNESCAPED = "its password may contain characters such as @ or /. Percent-encode them, e.g. @ as %40."
_UNKNOWN_PARAMETER = re.compile(r'invalid URI query parameter: "([a-z_]{1,30})"')
_OTHER_SCHEME = re.compile(r"(?!postgres(?:ql)?://)(?:jdbc:)?[a-z]{1,20}(?:\+[a-z0-9]{1,20})?://")
_PARAMETERS = {VECTOR: "%(vector)s", QUERY: "%(query)s", TOP_K: "%(top_k)s"}

Row = tuple[object, ...]


@dataclass(frozen=True, kw_only=True)
class Pgvector(ExistingIndex):
    """A search by `sql`, such as "SELECT id, text FROM passages ORDER BY embedding <=> {vector} LIMIT {top_k}".

    The placeholders are parameters of the statement. `dsn_env` names an environment variable with the connection
    string. Each search runs in a read-only transaction, and may take `timeout_s`. A stage uses one connection.
    """

    sql: str
    dsn_env: str = "PGVECTOR_DSN"
    timeout_s: float = runtime_only(60.0, "a search that takes too long fails")

    option: ClassVar[str] = "retriever=pgvector"

    @property
    def template(self) -> str:
        """The SQL."""
        return self.sql

    def check(self) -> list[str]:
        """Return one message per error in the fields, and messages for a missing connection string or package."""
        problems = self.problems("sql")
        quoted = "".join(_QUOTED.findall(self.sql))
        problems += [
            f"sql: has {sign} inside quotes, where it is text. Write {sign} without quotes, as in '%' || {sign} || '%'"
            for sign in _PARAMETERS
            if sign in quoted
        ]
        if not self.id_field.strip():
            problems.append("id_field: is empty, expected the name of the column with the id of a row")
        if not self.timeout_s > 0:
            problems.append(f"timeout_s: got {self.timeout_s}, expected more than 0")
        if not is_variable_name(self.dsn_env):
            problems.append(
                "dsn_env: expected the name of an environment variable that holds the connection string, such as "
                "PGVECTOR_DSN; the given text is not such a name, and is not shown because it may hold a password"
            )
        elif not read_api_key(self.dsn_env):
            problems.append(
                f"dsn_env: the environment variable {self.dsn_env} is not set. Set it "
                f"(export {self.dsn_env}=postgresql://USER:PASSWORD@HOST/DATABASE), or choose another variable."
            )
        elif problem := _find_problem(read_api_key(self.dsn_env)):
            problems.append(
                f"dsn_env: libpq cannot read the connection string in {self.dsn_env}, which is not shown: {problem}"
            )
        return [*problems, *map(str, missing_package_errors(["psycopg"], self.option, "pgvector"))]

    def find(
        self, queries: Sequence[str], vectors: NDArray[np.float32] | None, depth: int
    ) -> Iterator[list[IndexedText]]:
        """Yield the rows of the statement for each query. Raises ComponentError for a failed statement."""
        statement = self.sql.replace("%", "%%")
        for sign, parameter in _PARAMETERS.items():
            statement = statement.replace(sign, parameter)
        with self._connection(vectors) as connection:
            for row, query in enumerate(queries):
                vector = None if vectors is None else f"[{','.join(map(repr, vectors[row].tolist()))}]"
                values = {"vector": vector, "query": query, "top_k": depth}
                with connection.transaction():
                    hits = self._hits(connection.execute(statement.encode(), values), depth)
                yield hits

    def _hits(self, cursor: "Cursor[Row]", depth: int) -> list[IndexedText]:
        names = [column.name for column in cursor.description or ()]
        indices = {}
        for field in ("text_field", "id_field", "document_field"):
            name = getattr(self, field)
            if name and name not in names:
                raise ComponentError(
                    f"retriever.{field}: the statement returns no column {name!r}; its columns: "
                    f"{', '.join(names) or 'none'}"
                )
            indices[field] = names.index(name) if name else None
        text_index, id_index, document_index = indices.values()
        return [
            self.hit(*(None if index is None else row[index] for index in (text_index, id_index, document_index)))
            for row in cursor.fetchmany(depth)
        ]

    @contextmanager
    def _connection(self, vectors: NDArray[np.float32] | None) -> "Iterator[Connection[Row]]":
        """Yield a connection for read-only transactions. Its errors become a ComponentError without the password."""
        import psycopg

        try:
            with self._connect() as connection:
                yield connection
        except psycopg.errors.QueryCanceled as error:
            raise ComponentError(
                f"retriever=pgvector: a search took longer than retriever.timeout_s={self.timeout_s:g} "
                f"({self._one_line(error)}). Give it more time, or add an index to the table."
            ) from None
        except psycopg.Error as error:
            raise ComponentError(
                f"retriever=pgvector: the statement failed: {with_dimensions(self._one_line(error), vectors)}"
            ) from None

    def _connect(self) -> "Connection[Row]":
        import psycopg

        try:
            connection = psycopg.connect(
                read_api_key(self.dsn_env), connect_timeout=_CONNECT_TIMEOUT_S, prepare_threshold=None, autocommit=True
            )
        except psycopg.Error as error:
            raise ComponentError(
                f"retriever=pgvector: cannot connect with the string in {self.dsn_env}: {self._one_line(error)}"
            ) from None
        timeout_ms = f"{max(1, round(self.timeout_s * 1e3))}"
        connection.execute("SELECT set_config('statement_timeout', %s, false)", [timeout_ms])
        connection.read_only = True
        return connection

    def _one_line(self, error: Exception) -> str:
        """Return the message of an error without the connection string and its password."""
        text = " ".join(str(error).split())
        string = read_api_key(self.dsn_env)
        if _find_problem(string):
            return "libpq cannot read the string"
        for secret in sorted(filter(None, [string, *_passwords(string)]), key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        return shorten_masked(mask_text(text), _SHOWN_CHARACTERS)


def _find_problem(string: str) -> str:
    """Return why libpq cannot read a connection string, without quoting it; "" if it can, or if psycopg is missing.

    libpq ends a password at an unescaped @, /, ... It takes the rest for the host, the port or the database, and quotes
    it in errors.
    """
    try:
        from psycopg import Error
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        return ""
    try:
        parts = conninfo_to_dict(string)
    except (Error, ValueError) as error:
        if parameter := _UNKNOWN_PARAMETER.search(str(error)):
            return f"it has the parameter {parameter[1]}, which libpq does not know. Leave it out."
        if scheme := _OTHER_SCHEME.match(string):
            return f"it begins with {scheme[0]}, expected postgresql://"
        return "it is in quotes. Leave them out." if string[:1] in ("'", '"') else _UNESCAPED
    host, port, database = (str(parts.get(name) or "") for name in ("host", "port", "dbname"))
    has_rest = bool(parts.get("password")) and "@" in database
    is_cut = "@" in host.removeprefix("@") or has_rest or not re.fullmatch(r"[\d,]*", port)
    return _UNESCAPED if is_cut else ""


def _passwords(string: str) -> list[str]:
    """Return the password in a readable connection string, as it is written and as it is used."""
    from psycopg.conninfo import conninfo_to_dict

    written = re.search(r"://[^:/@]*:([^@]*)@", string)
    return [str(conninfo_to_dict(string).get("password") or ""), written[1] if written else ""]
