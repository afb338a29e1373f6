"""The same words mean another fault by where they were raised, and by who tells them: what the eighth threads taught."""

from __future__ import annotations

from tests.corpus.score import read

BROKEN = "_pickle.UnpicklingError: invalid load key, '\\x00'."
STEPS = "".join(f"step {step}/100 loss {3 - step / 50:.3f}\n" for step in range(1, 61))


def raised(file: str, function: str, exception: str, outer: str = "/srv/run.py") -> str:
    frames = f'  File "{outer}", line 4, in main\n    go()\n  File "{file}", line 27, in {function}\n    x()\n'
    return f"Traceback (most recent call last):\n{frames}{exception}\n"


def told(text: str) -> dict[str, str]:
    """The ids of the messages, or of their kinds, that are fatal, and the roles of these."""
    findings = read((STEPS + text).encode(), 900.0).findings
    return {each.groups.get("kind", each.id): each.role for each in findings if each.severity == "fatal"}


def test_bytes_that_came_broken_from_other_ranks_are_no_damaged_file() -> None:
    between = "/venv/lib/python3.12/site-packages/torch/distributed/distributed_c10d.py"
    assert told(raised(between, "_tensor_to_object", BROKEN)) == {"kind.collective": "cause"}
    assert "ckpt.corrupt" in told(raised("/venv/lib/python3.12/site-packages/torch/serialization.py", "load", BROKEN))


def test_nor_are_they_one_where_the_driver_tells_it_again() -> None:
    between = "/venv/lib/python3.12/site-packages/torch/distributed/distributed_c10d.py"
    again = f'Traceback (most recent call last):\n  File "/srv/driver.py", line 3, in main\n    ray.get(x)\n{BROKEN}\n'
    assert "ckpt.corrupt" not in told(raised(between, "_tensor_to_object", BROKEN) + again)


def test_the_place_of_an_exception_is_where_it_was_raised_not_where_the_driver_heard_of_it() -> None:
    wrapper = "ray.exceptions.RayTaskError(KeyError): ray::Actor.fit() (pid=9, ip=10.0.0.2)\n"
    missing = "KeyError: 'model.layers.0.weight'"
    inner = raised("/srv/own/worker.py", "update", f'{wrapper}  File "/srv/own/engine.py", line 8, in load\n    y()\n{missing}')
    outer = raised("/srv/own/driver.py", "main", wrapper + missing)
    places = [each.groups["frame"] for each in read((STEPS + inner + outer).encode()).findings if "frame" in each.groups]
    assert places == ["/srv/own/engine.py:8 in load"]


def test_an_engine_that_does_not_know_the_names_of_an_adapter_was_sent_them() -> None:
    assert "engine.weight_update" in told(raised("/srv/load.py", "load_weights", "KeyError: 'base_model.model.norm.weight'"))
    assert "engine.weights_differ" in told(raised("/srv/load.py", "load_weights", "KeyError: 'model.norm.weight'"))


def test_ranks_that_could_not_read_each_other_are_out_of_step() -> None:
    apart = "Exception: Unable to unpickle data from other workers. all_gather_list requires all workers to enter it together"
    first = raised("/srv/fairseq/distributed_utils.py", "all_gather_list", BROKEN)
    found = told(
        f"{first}\nDuring handling of the above exception, another exception occurred:\n\n{raised('/srv/t.py', 'f', apart)}"
    )
    assert found["dist.collective_mismatch"] == "cause"
    assert "ckpt.corrupt" not in found


def test_the_barrier_at_the_end_fails_for_what_came_before() -> None:
    end = (
        "W0604 agent.cc:330] Shutdown barrier failed on another task: DEADLINE_EXCEEDED: Barrier timed out. Id: Shutdown::4::0.\n"
    )
    memory = "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Error loading program: Attempting to reserve 8G"
    found = told(raised("/srv/t.py", "save", memory) + end)
    assert found["jax.oom"] == "cause"
    assert "jax.barrier" not in found
    assert "jax.barrier" in told(
        "E0604 agent.cc:9] DEADLINE_EXCEEDED: Barrier timed out. Id: [Init]Wait_for_all::0. Timed out tasks:\n"
    )


def test_a_request_that_a_server_refused_and_a_client_logs_ends_no_run() -> None:
    refused = "Error code: 400 - {'error': {'message': \"This model's maximum context length is 8192 tokens.\", 'code': 400}}"
    assert told(f"2026-10-01 10:00:00 - envs - ERROR - Error getting model response: {refused}\n") == {}
    assert "data.prompt_too_long" in told(raised("/srv/client.py", "ask", f"openai.BadRequestError: {refused}"))


def test_a_bar_of_loading_tells_nothing_of_the_loop_that_trains() -> None:
    assert read(b"Loading checkpoint shards:  33%|###   | 1/3 [00:02<00:04,  2.01s/it]\n").framework == "generic"
    assert read(b"training:  33%|###   | 1/3 [00:02<00:04,  2.01s/it]\n").framework == "tqdm"
