"""Samples of what ranks are in: read, ordered, and drawn."""

from __future__ import annotations

from xml.etree import ElementTree

from hangtop.render.flame_svg import flame_svg
from hangtop.stacks.folded import Profile, odd_first, parse, speedscope

COLOURS = dict.fromkeys(("background", "ink", "ok", "accent", "data", "trend"), "#123456")
RAW = """\
thread (7): MainThread;<module> (a.py:7);wait (a.py:3) 59
thread (7): MainThread;<module> (a.py:7);work (a.py:5) 1
thread (9): w;Thread._bootstrap (threading.py:1002);wait (busy.py:5) 60
nonsense
"""


def profile(name: str, **shares: int) -> Profile:
    return Profile(name, 1, {("main", frame): count for frame, count in shares.items()})


def test_the_main_thread_is_told_from_the_others():
    read = parse("rank 0", 7, RAW)
    assert read.samples == 60
    assert read.innermost()[0] == ("wait (a.py:3)", 59 / 60)
    assert list(read.others) == [("w", "Thread._bootstrap (threading.py:1002)", "wait (busy.py:5)")]


def test_control_codes_in_names_of_frames_are_taken_out():
    read = parse("rank 0", 7, "thread (7): MainThread;\x1b[31mf (a.py:1) 3\n")
    assert "\x1b" not in read.innermost()[0][0]


def test_the_rank_that_is_elsewhere_comes_first():
    ranks = [profile(f"rank {n}", wait=100) for n in range(7)]
    ordered = odd_first([*ranks[:3], profile("rank 9", lock=95, wait=5), *ranks[3:]])
    assert [each.name for each in ordered][:3] == ["rank 9", "rank 0", "rank 1"]


def test_a_frame_that_was_seen_now_and_then_makes_nobody_odd():
    ranks = [profile(f"rank {n}", forward=60 + n % 3, backward=40 - n % 3) for n in range(4)]
    assert [each.name for each in odd_first(ranks)] == ["rank 0", "rank 1", "rank 2", "rank 3"]


def test_speedscope_gets_a_profile_for_each_process_with_seconds():
    made = speedscope([parse("rank 0", 7, RAW)], 0.05, "a run")
    (first,) = made["profiles"]
    assert first["name"] == "rank 0"
    assert first["endValue"] == sum(first["weights"]) == 6.0
    frames = made["shared"]["frames"]
    assert all(place < len(frames) for sample in first["samples"] for place in sample)


def test_a_flame_graph_is_well_formed_and_as_wide_as_the_shares():
    drawing = flame_svg([profile("rank 0", forward=75, backward=25), profile("<b>", wait=1)], "a & b", COLOURS, "monospace")
    boxes = {
        (group[0].text or "").split(":")[0]: float(group[1].attrib["width"])
        for group in ElementTree.fromstring(drawing).iter("{http://www.w3.org/2000/svg}g")
    }
    assert boxes["forward"] / boxes["backward"] > 2.9
    assert "<b>" in boxes
