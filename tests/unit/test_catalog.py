"""What a user writes is read, wins over the package, and is refused with file, line and key when it is wrong."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hangtop.logs.catalog.load import CatalogError, load, parse_profile, parse_signatures

PROFILE = """\
schema = 1
name = "mine"
title = "My trainer"
contains = ["vllm"]

[[stage]]
id = "dataset"
title = "dataset"
enter = [
  { literal = ["reading shards"], example = "reading shards from /data" },
]

[[progress]]
id = "mine"
literal = ["tick "]
regex = 'tick (?P<step>[0-9]+)'
example = "tick 12"
"""

SIGNATURE = """\
schema = 1

[[signature]]
id = "mine.broken"
severity = "fatal"
role = "cause"
literal = ["it broke"]
regex = 'it broke: (?P<why>.{0,80})'
cause = "It broke."
fix = [{ text = "Mend it", where = "code" }]
example = "it broke: badly"
cite = ["me"]
"""


def user_dir(tmp_path, profile=None, signature=None):
    for folder, text in (("profiles", profile), ("signatures", signature)):
        if text is not None:
            (tmp_path / folder).mkdir()
            (tmp_path / folder / "mine.toml").write_text(text, encoding="utf-8")
    return tmp_path


def test_the_users_folder_adds_profiles_and_signatures(tmp_path):
    catalog = load(user_dir(tmp_path, PROFILE, SIGNATURE))
    assert catalog.profiles["mine"].framework == "mine"
    assert catalog.signatures["mine.broken"].category == "mine"
    assert "verl" in catalog.profiles


def test_the_nearest_of_two_with_one_name_wins(tmp_path):
    extra = tmp_path / "extra.toml"
    extra.write_text(PROFILE.replace("My trainer", "Nearest"), encoding="utf-8")
    (tmp_path / "user").mkdir()
    catalog = load(user_dir(tmp_path / "user", PROFILE.replace('"mine"', '"verl"').replace("My trainer", "My verl")), extra)
    assert catalog.profiles["mine"].title == "Nearest"
    assert catalog.profiles["verl"].title == "My verl"


def test_a_folder_that_is_not_there_is_no_error(tmp_path):
    assert load(tmp_path / "none").profiles.keys() == load().profiles.keys()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (PROFILE.replace('title = "dataset"', "title = 7"), 8, ("key stage[0].title", "Expected `str`, got `int`")),
        (PROFILE.replace('example = "reading', 'exmaple = "reading'), 10, ("enter[0]", "exmaple")),
        (PROFILE.replace('id = "dataset"\n', ""), 6, ("key stage[0]", "missing required field `id`")),
        (PROFILE.replace("[[stage]]", "[[stage]"), 6, ("not valid TOML",)),
        (PROFILE.replace('title = "My trainer"', 'title = "My'), 3, ("not valid TOML",)),
        (PROFILE.replace("'tick (?P", "'tick\n(?P"), 16, ("not valid TOML",)),
    ],
)
def test_a_wrong_profile_is_named_by_file_line_and_key(text, line, words):
    with pytest.raises(CatalogError) as caught:
        parse_profile(text, "mine.toml")
    message = str(caught.value)
    assert message.startswith(f"mine.toml:{line}: ")
    assert all(word in message for word in words), message
    assert "\n" not in message


def test_a_wrong_signature_is_named_by_file_line_and_key():
    with pytest.raises(CatalogError, match=r"^mine\.toml:16: key signature\[1\]\.role: Invalid enum value 'culprit'"):
        parse_signatures(SIGNATURE + SIGNATURE.replace("schema = 1\n\n", "").replace('"cause"', '"culprit"', 1), "mine.toml")


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        (
            PROFILE.replace('"dataset"\ntitle', '"datasets"\ntitle'),
            "mine.toml:7: key stage[0].id: stage 'datasets' is unknown; known are launch",
        ),
        (PROFILE.replace('["vllm"]', '["vlm"]'), "mine.toml:4: key contains: there is no profile 'vlm'; known are accelerate"),
        (PROFILE.replace("[0-9]+)", "[0-9]+"), "mine.toml:16: key progress[0].regex: does not compile: missing )"),
        (PROFILE.replace('"tick 12"', '"tock 12"'), "mine.toml:16: key progress[0].regex: does not match its example 'tock 12'"),
        (PROFILE.replace('["tick "]', '["tack "]'), "can match text without any of the literals ['tack ']"),
        (
            PROFILE.replace('"reading shards from', '"eating shards from'),
            "mine.toml:10: key stage[0].enter[0].example: 'eating shards",
        ),
    ],
)
def test_a_profile_that_would_not_work_is_refused(tmp_path, profile, words):
    with pytest.raises(CatalogError) as caught:
        load(user_dir(tmp_path, profile))
    assert words in str(caught.value)
    assert "mine.toml" in str(caught.value)


@pytest.mark.parametrize(
    ("signature", "words"),
    [
        (
            SIGNATURE.replace('cite = ["me"]', 'cite = ["me"]\nnegative = ["it broke: not"]'),
            "mine.toml:13: key signature[0].negative: 'it broke: not' matches the regex",
        ),
        (SIGNATURE.replace('"it broke"]', '"it crashed"]'), "can match text without any of the literals"),
        (
            SIGNATURE.replace('where = "code"', 'where = "moon"'),
            "mine.toml:10: key signature[0].fix[0].where: Invalid enum value 'moon'; known are code, command line, config",
        ),
    ],
)
def test_a_signature_that_would_miss_or_mislead_is_refused(tmp_path, signature, words):
    with pytest.raises(CatalogError) as caught:
        load(user_dir(tmp_path, None, signature))
    assert words in str(caught.value)


def test_an_extra_profile_that_cannot_be_read_says_why(tmp_path):
    with pytest.raises(CatalogError, match=r"none\.toml: cannot read this file: No such file"):
        load(extra=tmp_path / "none.toml")
    binary = tmp_path / "bin.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CatalogError, match="not UTF-8"):
        load(extra=binary)


def test_the_catalog_needs_no_textual_and_compiles_no_regex_of_signatures():
    code = (
        "import sys, re\n"
        "from hangtop.logs.catalog.load import load\n"
        "from hangtop.common.late_pattern import compiled\n"
        "load()\n"
        "assert compiled.cache_info().currsize == 0\n"
        "assert not [name for name in sys.modules if name.startswith('textual')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=240)


def test_every_message_and_setting_is_told_in_chinese_as_a_whole():
    english = load()
    assert [name for name, signature in english.signatures.items() if not signature.speaks_zh] == []
    assert [name for name, setting in english.settings.items() if not setting.truth_zh] == []


def test_a_message_is_told_in_english_where_nobody_translated_it(tmp_path):
    english, chinese = load().signatures, load(user_dir(tmp_path, None, SIGNATURE), lang="zh").signatures
    assert "显存" in chinese["cuda.oom"].cause
    assert [fix.set for fix in chinese["cuda.oom"].fix] == [fix.set for fix in english["cuda.oom"].fix]
    assert chinese["mine.broken"].cause == "It broke."
