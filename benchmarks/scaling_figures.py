"""Figures of scaling: cost against sizes, seconds by workers, and speed on workers that are simulated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

Cells = list[dict[str, Any]]
COLOURS = ("#1b6ca8", "#c8553d", "#588157", "#8e6c8a", "#3d405b")
SAID = {"n": "examples, N", "d": "features, d", "m": "background rows, m"}


def draw(kept: dict[str, Cells], folder: Path) -> None:
    """All figures there are numbers for."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update(
        {
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "savefig.dpi": 130,
            "savefig.bbox": "tight",
        }
    )
    if "cost" in kept:
        cost(kept["cost"], folder / "scaling_cost.png")
    if "workers" in kept and "doubled" in kept:
        workers(kept["workers"], kept["doubled"], folder / "scaling_workers.png")
    if "simulate" in kept:
        simulated(kept["simulate"], folder / "scaling_simulated.png")


def cost(cells: Cells, path: Path) -> None:
    """Seconds against N, d and m; the fitted cost as a line."""
    import matplotlib.pyplot as plt
    from scaling_cost import MODELS, fitted

    figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), sharey=True)
    for model, colour in zip(MODELS, COLOURS, strict=False):
        own = [cell for cell in cells if cell["model"] == model]
        guessed = fitted(own)[1]
        for axis, ax in zip(SAID, axes, strict=True):
            there = [(cell, guess) for cell, guess in zip(own, guessed, strict=True) if cell["axis"] == axis]
            sizes = [cell[axis] for cell, _ in there]
            ax.plot(sizes, [cell["seconds"] for cell, _ in there], "o", color=colour, label=f"{model}, 2,000 draws")
            ax.plot(sizes, [guess for _, guess in there], "-", color=colour, lw=1, alpha=0.7, label="  as fitted")
            ax.plot(
                sizes,
                [cell["default seconds"] for cell, _ in there],
                "x:",
                color=colour,
                lw=0.8,
                label=f"{model}, default call",
            )
            ax.set(xscale="log", yscale="log", xlabel=SAID[axis])
            ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
            ax.minorticks_off()
            ax.grid(alpha=0.2)
    axes[0].set_ylabel("seconds, one process")
    axes[2].legend(frameon=False, fontsize=7.5, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.suptitle("A run grows with d and with what tolerance asks of N; hardly with m", fontsize=10)
    figure.savefig(path)
    plt.close(figure)


def workers(cells: Cells, doubled: Cells, path: Path) -> None:
    """How many times sooner two workers end than one process."""
    import matplotlib.pyplot as plt
    from scaling_workers import APART

    own = [cell for cell in cells if cell["model"] == "holding" and cell["engine"] != "serial"]
    figure, ax = plt.subplots(figsize=(9.5, 3.4))
    names, places = [], range(len(own))
    for place, cell in zip(places, own, strict=True):
        for shift, what, colour in (
            (-0.25, "round", COLOURS[0]),
            (0.0, "rounds", COLOURS[2]),
            (0.25, "run", COLOURS[1]),
        ):
            ratio = cell["times sooner"][what]
            ax.bar(place + shift, ratio, 0.24, color=colour)
            ax.text(place + shift, ratio + 0.02, f"{ratio:.2f}", ha="center", fontsize=5.5)
        names.append(f"{cell['workers']} x {cell['engine']}\n{cell['batch_size'] or 'default'}")
    for what, colour in (("a long round", COLOURS[0]), ("rounds of a run", COLOURS[2]), ("the run", COLOURS[1])):
        ax.bar(0, 0, color=colour, label=what)
    yardstick = next(cell["times sooner"][1] for cell in doubled if cell["engine"] == APART)
    ax.axhline(yardstick, color="black", lw=0.8, ls="--", label=f"two {APART}")
    ax.set_xticks(list(places), names, fontsize=7.5)
    ax.set(ylabel="times sooner than one process", xlabel="workers, their number, and batch_size", ylim=(0, 2.4))
    ax.legend(frameon=False, fontsize=7.5, ncol=4, loc="upper left")
    figure.savefig(path)
    plt.close(figure)


def simulated(cells: Cells, path: Path) -> None:
    """Speed against the number of workers, for sizes of batches."""
    import matplotlib.pyplot as plt

    curves = [cell for cell in cells if "measured" not in cell]
    slow = list(dict.fromkeys(cell["seconds a row"] for cell in curves))
    figure, axes = plt.subplots(1, len(slow), figsize=(9, 3.8), sharey=True)
    for row, ax in zip(slow, axes, strict=True):
        own = [cell for cell in curves if cell["seconds a row"] == row]
        for batch_size, colour in zip(dict.fromkeys(cell["batch_size"] for cell in own), COLOURS, strict=False):
            there = [cell for cell in own if cell["batch_size"] == batch_size]
            ax.plot(
                [cell["workers"] for cell in there],
                [cell["speed-up"] for cell in there],
                "o-",
                ms=3,
                color=colour,
                label=f"batch_size={batch_size or 'default'}",
            )
        most = there[0]["seconds"] * there[0]["speed-up"] / there[0]["serial"]
        ax.plot([1, 1000], [1, 1000], color="grey", lw=0.8, ls=":", label="as many times as workers")
        ax.axhline(most, color="black", lw=0.8, ls="--", label="ends and plan alone")
        ax.set(xscale="log", yscale="log", xlabel="workers", title=f"{1000 * row:g} ms a row", ylim=(0.8, 300))
        ax.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1,000"])
        ax.set_yticks([1, 2, 5, 10, 20, 50, 100, 200], ["1", "2", "5", "10", "20", "50", "100", "200"])
        ax.minorticks_off()
        ax.grid(alpha=0.2)
    axes[0].set_ylabel("times sooner than one process")
    axes[-1].legend(frameon=False, fontsize=7.5, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.tight_layout()
    figure.suptitle("Simulated: 2,000 draws, N = 1,000, d = 20, m = 128, overheads of Dask", fontsize=10, y=1.03)
    figure.savefig(path)
    plt.close(figure)
