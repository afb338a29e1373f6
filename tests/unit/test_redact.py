"""No secret survives redaction, whatever stands around it; settings that only sound like secrets stay."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hangtop.common.secrets.redactor import MARK, Redactor

SECRET_BODY = st.text(string.ascii_letters + string.digits, min_size=36, max_size=40)
SHAPES = [
    "hf_{}", "sk-{}", "ghp_{}", "github_pat_{}", "glpat-{}", "AIza{}", "xoxb-{}", "pypi-{}", "eyJ{0}.{0}.{0}",
    "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\n{}\n-----END PGP PRIVATE KEY BLOCK-----",
    "sk_live_{}", "gsk_{}", "xai-{}", "nvapi-{}", "r8_{}", "LTAI{}", "hvs.{}", "npm_{}", "ya29.{}",
    "https://hooks.slack.com/services/T0/B0/{}", "https://open.feishu.cn/open-apis/bot/v2/hook/{}",
    "https://discord.com/api/webhooks/1234/{}", "https://api.telegram.org/bot12345:{}/sendMessage",
]  # fmt: skip
PLACES = [
    "export WANDB_API_KEY={}", "HF_TOKEN='{}'", 'password: "{}"', "{{'api_key': '{}', 'lr': 1e-4}}", "--api-key {}",
    "--password={}",
    "Authorization: Bearer {}", "https://user:{}@host/path", "https://host/o?X-Amz-Signature={}&x=1", "trainer.logger.secret={}",
    "aws_secret_access_key = {}", "azure_account_key={}", "redis://:{}@10.0.0.2:6379/0", "SLACK_WEBHOOK_URL={}",
    "https://{}@github.com/a/b.git", "curl -u admin:{} https://x", "machine api.wandb.ai login user password {}",
    "wandb login {}", "sshpass -p {} ssh node", "mysql -h db -p{}", "PGPASSWORD={}", "{{'auths': {{'reg': {{'auth': '{}'}}}}}}",
]  # fmt: skip
AROUND = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\"'"), max_size=20)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(SHAPES), SECRET_BODY, AROUND, AROUND)
def test_no_token_of_a_known_shape_survives(shape: str, body: str, before: str, after: str) -> None:
    secret = shape.format(body)
    assert body not in Redactor().text(f"{before} {secret} {after}")


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(PLACES), SECRET_BODY, AROUND, AROUND)
def test_no_value_beside_a_telling_name_survives(place: str, body: str, before: str, after: str) -> None:
    cleaned = Redactor().text(f"{before} {place.format(body)} {after}")
    assert body not in cleaned
    assert MARK in cleaned


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens: 4096",
        "tokenizer_path=/models/qwen",
        "response_length/mean:512.0 - perf/throughput:812.3",
        "Generating train split: 60000 examples [00:00, 812342.1 examples/s]",
        "skip_special_tokens=True",
        "pad_token_id: 151643",
        "use_auth_token=False",
        "[rank3]: step 12/40 loss 2.31",
        "https://huggingface.co/Qwen/Qwen2-7B/resolve/main/config.json",
        "ssh://git@github.com/org/repo.git",
        "prompt_key: question, reward_fn_key=data_source, key: value",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "python -u train.py --user-batch 4",
    ],
)
def test_settings_that_only_sound_like_secrets_stay(text: str) -> None:
    redactor = Redactor()
    assert redactor.text(text) == text
    assert not redactor.taken


@pytest.mark.parametrize("word", ["a.b-", "key", "password=", "mysql x ", " -u ", "https.", "?token", "eyJ.", "--a.token"])
def test_a_word_without_end_holds_nothing_up(word: str) -> None:
    """A backtracking pattern would take hours here, and a bundle of a log with one such line would never be written."""
    assert Redactor().text(word * 20_000)


def test_the_environment_is_cleaned_by_name_and_by_shape_and_told_by_name() -> None:
    redactor = Redactor()
    kept = redactor.environ(
        {
            "HF_TOKEN": "abc",
            "WANDB_API_KEY": "0123abcd",
            "RANK": "3",
            "NCCL_DEBUG": "INFO",
            "PROXY": "http://me:pw12@p:1",
            "MAX_TOKEN": "5",
        }
    )
    assert kept == {
        "HF_TOKEN": MARK,
        "WANDB_API_KEY": MARK,
        "RANK": "3",
        "NCCL_DEBUG": "INFO",
        "PROXY": f"http://{MARK}@p:1",
        "MAX_TOKEN": "5",
    }
    assert redactor.taken["environment variable HF_TOKEN"] == 1


def test_json_stays_json() -> None:
    tree = {"env": {"HF_TOKEN": "abc", "RANK": "3"}, "lines": ["password=hunter2x", 7, None], "max_tokens": 5}
    assert Redactor().tree(tree) == {
        "env": {"HF_TOKEN": MARK, "RANK": "3"},
        "lines": [f"password={MARK}", 7, None],
        "max_tokens": 5,
    }


def test_cleaning_twice_changes_nothing_more() -> None:
    once = Redactor().text("HF_TOKEN=hf_abcdefghijklmnopqrstuv url=https://u:p@h/?token=abc")
    assert Redactor().text(once) == once


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=2_000))
def test_any_text_passes(text: str) -> None:
    Redactor().text(text)


def test_a_mark_is_not_marked_again() -> None:
    assert Redactor().text("token=hf_abcdefghijklmnopqrstuvwxyz123456.") == "token=[redacted]"
    assert Redactor().text("(token=hf_abcdefghijklmnopqrstuvwxyz123456, next)") == "(token=[redacted], next)"
    assert Redactor().text("see token=[redacted].") == "see token=[redacted]."
    assert Redactor().text("token=[redacted]$rest") == "token=[redacted]"
