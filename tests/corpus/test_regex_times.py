"""No regex of the catalogue is kept busy by a hostile text. Beside the fast lane, for it costs 20 s of CPU.

`hangtop profiles test` says the same of a user's own files.
"""

from __future__ import annotations

import pytest

from hangtop.cli.commands import profiles as command
from hangtop.logs.catalog.load import load

CATALOG = load()
PARTS = 8
"""As many tests, so that they can run beside each other."""
SIGNATURES = tuple(CATALOG.signatures.values())


@pytest.mark.parametrize("profile", CATALOG.profiles.values(), ids=lambda profile: profile.name)
def test_every_profile_is_quick_on_hostile_text(profile):
    assert [*command.flaws_of((profile,), (), frozenset(CATALOG.profiles))] == []


@pytest.mark.parametrize("part", range(PARTS))
def test_every_signature_is_quick_on_hostile_text(part):
    assert [*command.flaws_of((), SIGNATURES[part::PARTS], frozenset(CATALOG.profiles))] == []
