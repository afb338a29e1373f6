"""How often each byte stands in the parts of a model."""

import sys
from collections import Counter
from pathlib import Path

for name in sys.argv[1:]:
    counts = Counter(Path(name).read_bytes())
    print(f"{name}: {sum(counts.values())} bytes, {len(counts)} kinds", flush=True)
