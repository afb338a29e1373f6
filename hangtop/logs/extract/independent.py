"""The extractors that need no other one: their order means nothing. A new one is one file in this folder and one entry here."""

from __future__ import annotations

from hangtop.logs.extract.extractor import Extractor
from hangtop.logs.extract.notices import Notices
from hangtop.logs.extract.ray_sessions_named import RayNames

INDEPENDENT: tuple[type[Extractor], ...] = (Notices, RayNames)
