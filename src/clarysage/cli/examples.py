"""Command lines to begin with, shown at the end of each command's help."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, ...]] = {
    "clarysage": (
        "clarysage demo",
        "clarysage explain model.skops test.csv --target price --background train.csv --html report.html",
        "clarysage compare before.json after.json",
        "clarysage monitor model.skops test.csv june.csv --target price",
    ),
    "explain": (
        "clarysage explain model.skops test.csv --target price --background train.csv",
        "clarysage explain model.json test.parquet --target bought --loss cross-entropy --html report.html",
        "clarysage explain mymodule:predict test.csv --target y --drop id --json sage.json --rows",
        "clarysage explain --config explain.toml --seed 1",
    ),
    "measures": (
        "clarysage measures --list",
        "clarysage measures model.skops test.csv --target price --plot measures.png --html measures.html",
        'clarysage measures model.skops test.csv --target price --only "sage,permutation test"',
    ),
    "compare": (
        "clarysage compare before.json after.json",
        "clarysage compare old-model.json new-model.json --names old,new --html comparison.html",
        "clarysage compare may.json june.json july.json --unpaired --adjust benjamini-hochberg --json -",
    ),
    "merge": (
        "clarysage merge seed1.json seed2.json seed3.json --json merged.json",
        "clarysage merge runs/1.json runs/2.json --html merged.html --plot merged.png --tests",
    ),
    "monitor": (
        "clarysage monitor model.skops test.csv june.csv --target price --html monitoring.html",
        "clarysage monitor model.skops test.csv live.csv --target price --by date --every week --json monitoring.json",
        "clarysage monitor model.skops test.csv live.csv --background train.csv --quiet",
    ),
    "report": (
        "clarysage report sage.json",
        'clarysage report sage.json -o report.html --title "House prices, May"',
    ),
    "demo": ("clarysage demo", "clarysage demo --output shown --seed 7"),
    "doctor": ("clarysage doctor", "clarysage doctor --json doctor.json"),
}  # fmt: skip


def examples(command: str) -> str:
    """The examples of a command, for the end of its help."""
    lines = [f"  {line}" for line in EXAMPLES[command]]
    return "\n".join(["\b", "Examples:", *lines])  # \b: lines stay as they are
