"""What a coding agent gets: the real server over stdio, asked by the official client."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

mcp = pytest.importorskip("mcp", reason="no mcp here: pip install 'mcp>=2'")

SECRET = "hf_abcdefghijklmnopqrstuvwxyz"
LOG = f"""[rank0]: step 1/3 loss=2.0
[rank0]: pushing with {SECRET}
[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB
[rank0]: step 2/3 loss=1.0
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    place = tmp_path / "train.log"
    place.write_text(LOG)
    return place


@asynccontextmanager
async def agent(*options: str) -> AsyncIterator[Any]:
    server = mcp.StdioServerParameters(command=sys.executable, args=["-m", "hangtop", "mcp", *options])
    async with mcp.Client(server) as client:
        yield client


async def asked(client: Any, tool: str, **arguments: object) -> str:
    """What the tool says. Fails where it could not."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content[0].text
    return answer.content[0].text


async def test_an_agent_learns_what_a_person_sees_without_secrets(log: Path) -> None:
    async with agent() as client:
        tools = (await client.list_tools()).tools
        verdict = json.loads(await asked(client, "check", log=str(log)))
        lines = await asked(client, "logs", log=str(log), text="PUSHING")
        errors = await asked(client, "logs", log=str(log), errors_only=True)
        page = await asked(client, "explain", query="CUDA out of memory")
    assert [tool.name for tool in tools] == ["check", "stacks", "explain", "doctor", "logs"]
    assert all(tool.annotations.read_only_hint for tool in tools)
    assert (verdict["schema"], "cuda.oom" in {finding["id"] for finding in verdict["findings"]}) == (1, True)
    assert lines == "[rank0]: pushing with [redacted]"
    assert errors.startswith("[rank1]: torch.OutOfMemoryError")
    assert page.startswith("cuda.oom")


async def test_a_server_for_one_run_tells_of_no_other(log: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.log"
    other.write_text("secret\n")
    async with agent("--log", str(log)) as client:
        refused = await client.call_tool("logs", {"log": str(other)})
        assert "step 2/3" in await asked(client, "logs", text="step")
    assert (refused.is_error, "this server is for" in refused.content[0].text) == (True, True)


async def test_a_path_that_no_file_can_have_is_refused_at_once() -> None:
    async with agent() as client:
        for tool in ("check", "stacks", "logs"):
            refused = await client.call_tool(tool, {"log": "a\0b"})
            assert (refused.is_error, "log 'a\\x00b': no path holds a NUL" in refused.content[0].text) == (True, True)
        refused = await client.call_tool("logs", {"log": "-"})
        assert "give the path of a log" in refused.content[0].text
