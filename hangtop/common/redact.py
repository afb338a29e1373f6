"""Removes secrets from text before it leaves the machine: by the name beside them, and by their shape. Pure.

In doubt a value is removed; numbers, booleans and paths beside such a name stay, since they are settings (`max_tokens: 4096`,
`tokenizer_path=/models/x`). The kinds of secrets that were removed are counted, their values are not kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

MARK = "[redacted]"

_NAME = (
    r"(?:token|secret|passwd|password|passphrase|pwd|api[_-]?key|apikey|access[_-]?key(?:[_-]?id)?|secret[_-]?key|private[_-]?key"
    r"|signing[_-]?key|encryption[_-]?key|account[_-]?key|credentials?|auth|authorization|cookie|webhook(?:[_-]?url)?|dsn"
    r"|connection[_-]?string|sas)"
)
_HARMLESS = r"(?:\[redacted\]|\d{1,6}(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|none|null|yes|no|on|off|auto)(?![\w./+=-])"
"""Values that stay beside such a name; the mark of an earlier pass is one of them."""
_SHAPES: tuple[tuple[str, str], ...] = (
    ("private key", r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)"),
    ("private key", r"(?m)(?:^[A-Za-z0-9+/=]{16,100}[ \t\r]*\n){1,100}-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----"),
    ("Hugging Face token", r"\b(?:hf|api_org)_[A-Za-z0-9]{16,}"),
    ("API key", r"\b(?:sk-|[prs]k_(?:live|test)_|gsk_|xai-|nvapi-|r8_|SG\.|glsa_|dop_v1_)[A-Za-z0-9_.-]{16,}"),
    ("Databricks token", r"\bdapi[0-9a-f]{32}"),
    ("Alibaba or Tencent key", r"\b(?:LTAI|AKID)[A-Za-z0-9]{12,}"),
    ("Vault token", r"\bhv[sbr]\.[A-Za-z0-9_-]{16,}"),
    ("npm token", r"\bnpm_[A-Za-z0-9]{30,}"),
    ("ModelScope token", r"\bms-[0-9a-f]{8}-[0-9a-f-]{20,}"),
    ("GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})"),
    ("GitLab token", r"\bglpat-[A-Za-z0-9_-]{16,}"),
    ("AWS key", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    ("Google key", r"\b(?:AIza[0-9A-Za-z_-]{30,}|ya29\.[0-9A-Za-z_-]{20,})"),
    ("Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("PyPI token", r"\bpypi-[A-Za-z0-9_-]{30,}"),
    ("JSON in base 64, as web tokens and registry logins are", r"\beyJ[A-Za-z0-9_+/=-]{8,}(?:\.[A-Za-z0-9_-]*)*"),
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}")
_IN_URL = re.compile(r"\b([a-zA-Z][a-zA-Z0-9+.-]{0,20}://)(?:[^\s/@:'\"]{0,200}:[^\s/@'\"]+|[^\s/@:'\"]{16,})@")
_WEBHOOK = re.compile(
    r"(hooks\.slack\.com/(?:services|workflows)/|/open-apis/bot/v2/hook/|discord(?:app)?\.com/api/webhooks/\d+/"
    r"|api\.telegram\.org/bot)[\w:-][\w:/-]{9,}"
)
_ON_COMMAND_LINE = re.compile(
    r"(\bwandb login\s+(?:--\S+\s+)*|\bsshpass\s+-p\s*|\bmysql\w*\s[^\r\n]{0,200}?(?<=\s)-p|\blogin\s+\S+\s+password\s+"
    r"|\s(?:-u|--user)\s+['\"]?[^\s:'\"]{1,100}:)(?!-)[^\s'\"]{4,}"
)
"""Programs that take a secret without a telling name; the third is how `.netrc` writes it."""
_KEY_LIKE = re.compile(
    r"(?i)(?P<name>key)(?P<between>[\"']?\s*(?:=>|[=:])\s*[\"']?)"
    r"(?=[\w+/=-]{0,64}\d)(?=[\w+/=-]{0,64}[a-z])[A-Za-z0-9_+/=-]{20,}"
)
"""`wandb_key: 5f3…`; a `prompt_key: question` is a setting."""
_IN_QUERY = re.compile(
    r"(?i)([?&](?:[\w-]*(?:token|key|secret|signature|sig|password|credential)[\w-]*)=)(?!\[redacted\])[^&\s'\"#]+"
)
_BESIDE_NAME = re.compile(
    rf"(?i)(?P<name>{_NAME})(?P<between>[\"']?\s*(?:=>|[=:])\s*)(?!{_HARMLESS})"
    r"(?P<value>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|[^\s,;}\])\"']+)"
)
_OPTION = re.compile(
    rf"(?i)(?P<name>--?[\w.-]{{0,60}}?{_NAME})(?P<between>\s+)(?!-)(?!{_HARMLESS})(?P<value>[^\s'\"]+|\"[^\"\n]*\"|'[^'\n]*')"
)
_SHAPE_PATTERNS = tuple((name, re.compile(pattern)) for name, pattern in _SHAPES)
_SECRET_NAME = re.compile(rf"(?i)(?:^|[_.-]){_NAME}[_.-]?\d*$|passw(?:or)?d|api_?key$|secret$")


def _is_secret(name: str, value: str) -> bool:
    """Whether a whole value beside this name is a secret."""
    return bool(value and _SECRET_NAME.search(name)) and not re.fullmatch(rf"(?i){_HARMLESS}", value)


class Redactor:
    """Cleans text and environments, and counts what it took out, by kind."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()

    def text(self, text: str) -> str:
        """The text without secrets."""
        for kind, pattern in _SHAPE_PATTERNS:
            text = self._replace(pattern, kind, MARK, text)
        text = self._replace(_BEARER, "authorization header", rf"\1 {MARK}", text)
        text = self._replace(_IN_URL, "password in a URL", rf"\1{MARK}@", text)
        text = self._replace(_IN_QUERY, "signed URL", rf"\1{MARK}", text)
        text = self._replace(_WEBHOOK, "webhook", rf"\1{MARK}", text)
        text = self._replace(_ON_COMMAND_LINE, "password on a command line", rf"\1{MARK}", text)
        text = self._replace(_KEY_LIKE, "value beside a telling name", rf"\g<name>\g<between>{MARK}", text)
        text = self._replace(_BESIDE_NAME, "value beside a telling name", rf"\g<name>\g<between>{MARK}", text)
        return self._replace(_OPTION, "value of a telling option", rf"\g<name>\g<between>{MARK}", text)

    def tree(self, value: Any) -> Any:
        """A JSON value with every string in it cleaned: it stays JSON. A whole value beside a telling key goes."""
        match value:
            case str():
                return self.text(value)
            case dict():
                return {key: self._beside(key, inner) for key, inner in value.items()}
            case list() | tuple():
                return [self.tree(item) for item in value]
        return value

    def _beside(self, key: str, value: Any) -> Any:
        if isinstance(value, str) and _is_secret(key, value):
            self.taken["value beside a telling name"] += 1
            return MARK
        return self.tree(value)

    def environ(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The environment: values of telling names as a whole, the others as text."""
        kept: dict[str, str] = {}
        for name, value in environ.items():
            if _is_secret(name, value):
                self.taken[f"environment variable {name}"] += 1
                kept[name] = MARK
            else:
                kept[name] = self.text(value)
        return kept

    def _replace(self, pattern: re.Pattern[str], kind: str, by: str, text: str) -> str:
        cleaned, times = pattern.subn(by, text)
        if times:
            self.taken[kind] += times
        return cleaned
