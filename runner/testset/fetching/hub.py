"""The Hugging Face hub: the list of a repository's files at a commit, and their content from any byte on.

HF_ENDPOINT is the hub's address, HF_TOKEN the token, HF_HUB_OFFLINE=1 forbids requests, as for the hub's own client.
The token goes to the hub alone: we follow redirects to other servers, which the hub uses for content, without it.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage, HTTPResponse
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, OpenerDirector, Request, build_opener

from components.errors import DataError
from components.json_value import Json
from components.openai_server.access import key_problems, proxy_problems, read_api_key, url_problems
from components.openai_server.connection import make_ssl_context
from components.openai_server.origin import MAX_REDIRECTS, REDIRECTS, parse_origin
from components.pretrained.hub_address import ENDPOINT, HUB, OFFLINE, TOKEN, hub_endpoint, is_offline

_TIMEOUT_S = 30.0
_MAX_BYTES_OF_LIST = 16 << 20
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_TEMPORARY = (408, 429, 500, 502, 503, 504)


class Offline(DataError):
    """The hub cannot be reached."""


class InterruptedDownload(Exception):
    """The connection ended, or the server asks us to try later. Another attempt may succeed."""


@dataclass(frozen=True)
class HubFile:
    """A file of a repository. Large files have a SHA-256, all others the SHA-1 of their git blob."""

    n_bytes: int
    sha256: str = ""
    git_sha1: str = ""


@dataclass(frozen=True)
class Repository:
    """A repository at a commit, with its files by path."""

    name: str
    commit: str
    licence: str
    files: Mapping[str, HubFile]


class Hub:
    """The hub that the environment names. Raises DataError for an unusable address, token or proxy."""

    def __init__(self) -> None:
        self.endpoint = hub_endpoint()
        self._token = read_api_key(TOKEN)
        problems = [
            *(each.replace("base_url", ENDPOINT, 1) for each in url_problems(self.endpoint, HUB)),
            *(each.replace("api_key_env", TOKEN, 1) for each in (key_problems(TOKEN) if self._token else [])),
        ] or proxy_problems(self.endpoint)
        if problems:
            raise DataError(problems)
        self._opener: OpenerDirector | None = None

    def address(self, repo: str, revision: str, path: str) -> str:
        """Return the address of a file."""
        return f"{self.endpoint}/datasets/{repo}/resolve/{quote(revision, safe='')}/{quote(path)}"

    def repository(self, repo: str, revision: str) -> Repository:
        """Return the files of a repository at a branch or commit.

        Raises Offline for an unreachable hub, InterruptedDownload if the connection ends early, DataError if the hub
        lacks the repository or describes it in another form.
        """
        source = f"{repo} at revision {revision}"
        with self._get(f"{self.endpoint}/api/datasets/{repo}/revision/{revision}?blobs=true", source, {}) as reply:
            body = _read(reply, _MAX_BYTES_OF_LIST + 1)
        try:
            repository = _repository(repo, json.loads(body))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise DataError(
                f"{self.endpoint}: sent no list of the files of {source}. Check {ENDPOINT}, or try later."
            ) from None
        if _COMMIT.fullmatch(revision) and repository.commit != revision:
            raise DataError(
                f"{source}: the hub sent commit {repository.commit}, not the requested one. Nothing was downloaded."
            )
        return repository

    def open(self, repo: Repository, path: str, start: int) -> tuple[HTTPResponse, int]:
        """Return the content of a file, and its first byte: `start`, or 0 if the server sends the whole file."""
        source = f"{path} of {repo.name} at revision {repo.commit}"
        headers = {"Range": f"bytes={start}-"} if start else {}
        reply = self._get(self.address(repo.name, repo.commit, path), source, headers, repo.commit)
        begins = re.match(r"bytes (\d+)-", reply.headers.get("content-range", "")) if reply.status == 206 else None
        if reply.status == 206 and (begins is None or int(begins[1]) != start):
            reply.close()
            raise InterruptedDownload("the server sent a different part of the file")
        return reply, start if begins else 0

    def _get(self, address: str, source: str, headers: Mapping[str, str], commit: str = "") -> HTTPResponse:
        """Return the reply with status 200 or 206 after redirects. The hub must name this `commit`."""
        if is_offline():
            raise Offline(f"{OFFLINE} is set, so no request is sent to {self.endpoint}")
        for _ in range(MAX_REDIRECTS + 1):
            reply = self._open(address, headers)
            named = reply.headers.get("x-repo-commit", "")
            if commit and named and named != commit:
                reply.close()
                raise DataError(f"{source}: the hub sent commit {named}, not the requested one. Nothing was stored.")
            location = reply.headers.get("location") if reply.status in REDIRECTS else None
            if location is None:
                return self._require_success(reply, source)
            reply.close()
            address = next_hub_address(address, location, source)
        raise DataError(f"{source}: the hub redirects more than {MAX_REDIRECTS} times. Check {ENDPOINT}.")

    def _open(self, address: str, headers: Mapping[str, str]) -> HTTPResponse:
        sent = {"User-Agent": "rag-grid", "Accept-Encoding": "identity", **headers}
        if self._token and parse_origin(address) == parse_origin(self.endpoint):
            sent["Authorization"] = f"Bearer {self._token}"
        if self._opener is None:
            is_secure = self.endpoint.startswith("https")  # loading certificates takes half a second
            handlers = [HTTPSHandler(context=make_ssl_context())] if is_secure else []
            self._opener = build_opener(_NoRedirects, *handlers)
        try:
            reply: HTTPResponse = self._opener.open(Request(address, headers=sent), timeout=_TIMEOUT_S)  # noqa: S310
        except HTTPError as error:
            return error  # type: ignore[return-value]  # an HTTPError has the status, the headers and the body
        except URLError as error:
            raise Offline(f"{urlsplit(address).netloc} cannot be reached ({error.reason})") from None
        except (OSError, HTTPException, ValueError) as error:  # ValueError: a redirect to an unreadable address
            raise InterruptedDownload(str(error) or type(error).__name__) from None
        return reply

    def _require_success(self, reply: HTTPResponse, source: str) -> HTTPResponse:
        if reply.status in (200, 206):
            return reply
        reply.close()
        if reply.status in _TEMPORARY or reply.status == 416:
            raise InterruptedDownload(f"the server answered with status {reply.status}")
        if reply.status in (401, 403):
            advice = (
                "Check that the token in HF_TOKEN may read it." if self._token else "Set HF_TOKEN if it needs a token."
            )
            raise DataError(f"{source}: {self.endpoint} denies access (status {reply.status}). {advice}")
        if reply.status == 404:
            raise DataError(f"{source}: {self.endpoint} does not have it (status 404). Check {ENDPOINT}.")
        raise DataError(f"{source}: {self.endpoint} answered with status {reply.status}, expected 200")


class _NoRedirects(HTTPRedirectHandler):
    """Follows no redirect: the standard library would send the token along."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        return None


def next_hub_address(address: str, location: str, source: str) -> str:
    """Return the address that a redirect leads to. Raises DataError if it is unusable or drops https."""
    try:
        target = urljoin(address, location.strip())
        here, there = (parse_origin(each).partition(":")[0] for each in (address, target))
    except ValueError:
        raise DataError(f"{source}: the hub redirects to an address that cannot be parsed") from None
    if there not in ("http", "https") or (here, there) == ("https", "http"):
        raise DataError(f"{source}: the hub redirects from {here} to {there}; no request was sent there")
    return target


def _read(reply: HTTPResponse, n_bytes: int) -> bytes:
    try:
        return reply.read(n_bytes)
    except (OSError, HTTPException) as error:
        raise InterruptedDownload(str(error) or type(error).__name__) from None


def _repository(repo: str, described: Json) -> Repository:
    """Return the repository of the hub's JSON. Raises ValueError, KeyError or TypeError if it has another form."""
    commit = described["sha"]
    if not _COMMIT.fullmatch(commit):
        raise ValueError(commit)
    licence = (described.get("cardData") or {}).get("license", "")
    licences = licence if isinstance(licence, list) else [licence]
    files = {file["rfilename"]: _file(file) for file in described["siblings"]}
    return Repository(repo, commit, ", ".join(map(str, filter(None, licences))), files)


def _file(described: Json) -> HubFile:
    large = described.get("lfs") or {}
    sha256, git_sha1 = large.get("sha256", ""), "" if large else described.get("blobId") or ""
    if (sha256 and not _SHA256.fullmatch(sha256)) or (git_sha1 and not _COMMIT.fullmatch(git_sha1)):
        raise ValueError("a hash")
    return HubFile(int(described["size"]), sha256, git_sha1)
