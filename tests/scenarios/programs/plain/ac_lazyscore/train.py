"""A tagger; the scores are imported when they are first needed, as that takes a moment."""

import random

from rich.console import Console
from rich.table import Table

console = Console(force_terminal=True, width=90)
rng = random.Random(4)
weights = [0.0] * 30
for step in range(1, 101):
    for _ in range(4000):
        at = rng.randrange(30)
        weights[at] += 0.01 * ((at % 3) - weights[at])
    if step % 2 == 0:
        table = Table(title=f"step {step}")
        table.add_column("loss", style="cyan")
        table.add_column("norm")
        table.add_row(f"{sum(((at % 3) - one) ** 2 for at, one in enumerate(weights)):.4f}", f"{sum(map(abs, weights)):.3f}")
        console.print(table)
    if step % 40 == 0:
        console.rule("[bold]scores")
        import scores

        console.print(f"[green]F1[/green] {scores.f1(weights):.4f}")
console.print("[bold green]fit[/bold green]")
