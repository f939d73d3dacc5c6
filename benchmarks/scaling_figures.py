"""Figures of scaling: cost against sizes, speed-up of two workers, and predicted speed-up of many workers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

Cells = list[dict[str, Any]]
COLOURS = ("#1b6ca8", "#c8553d", "#588157", "#8e6c8a", "#3d405b")
LABELS = {"n": "examples, N", "d": "features, d", "m": "background rows, m"}


def draw(cells: dict[str, Cells], folder: Path) -> None:
    """Draws all figures for which there are numbers."""
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
    if "cost" in cells:
        draw_cost(cells["cost"], folder / "scaling_cost.png")
    if "workers" in cells and "doubled" in cells:
        draw_speed_up(cells["workers"], cells["doubled"], folder / "scaling_workers.png")
    if "simulate" in cells:
        draw_simulation(cells["simulate"], folder / "scaling_simulated.png")


def draw_cost(cells: Cells, path: Path) -> None:
    """Draws seconds against N, d and m, and the fitted cost as a line."""
    import matplotlib.pyplot as plt
    from scaling_cost import MODELS, fitted

    figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), sharey=True)
    for model, colour in zip(MODELS, COLOURS, strict=False):
        of_model = [cell for cell in cells if cell["model"] == model]
        predictions = fitted(of_model)[1]
        for axis, ax in zip(LABELS, axes, strict=True):
            points = [(cell, fit) for cell, fit in zip(of_model, predictions, strict=True) if cell["axis"] == axis]
            sizes = [cell[axis] for cell, _ in points]
            ax.plot(sizes, [cell["seconds"] for cell, _ in points], "o", color=colour, label=f"{model}, 2,000 draws")
            ax.plot(sizes, [fit for _, fit in points], "-", color=colour, lw=1, alpha=0.7, label="  as fitted")
            ax.plot(
                sizes,
                [cell["default seconds"] for cell, _ in points],
                "x:",
                color=colour,
                lw=0.8,
                label=f"{model}, default call",
            )
            ax.set(xscale="log", yscale="log", xlabel=LABELS[axis])
            ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
            ax.minorticks_off()
            ax.grid(alpha=0.2)
    axes[0].set_ylabel("seconds, one process")
    axes[2].legend(frameon=False, fontsize=7.5, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.suptitle("The cost grows with d and, through the tolerance, with N; it hardly depends on m", fontsize=10)
    figure.savefig(path)
    plt.close(figure)


def draw_speed_up(cells: Cells, doubled: Cells, path: Path) -> None:
    """Draws the speed-up of two workers over one process."""
    import matplotlib.pyplot as plt
    from scaling_workers import INDEPENDENT

    shared = [cell for cell in cells if cell["model"] == "holding" and cell["engine"] != "serial"]
    figure, ax = plt.subplots(figsize=(9.5, 3.4))
    names, positions = [], range(len(shared))
    for position, cell in zip(positions, shared, strict=True):
        for shift, what, colour in (
            (-0.25, "round", COLOURS[0]),
            (0.0, "rounds", COLOURS[2]),
            (0.25, "run", COLOURS[1]),
        ):
            ratio = cell["times sooner"][what]
            ax.bar(position + shift, ratio, 0.24, color=colour)
            ax.text(position + shift, ratio + 0.02, f"{ratio:.2f}", ha="center", fontsize=5.5)
        names.append(f"{cell['workers']} x {cell['engine']}\n{cell['batch_size'] or 'default'}")
    for what, colour in (("a long round", COLOURS[0]), ("rounds of a run", COLOURS[2]), ("the run", COLOURS[1])):
        ax.bar(0, 0, color=colour, label=what)
    possible = next(cell["times sooner"][1] for cell in doubled if cell["engine"] == INDEPENDENT)
    ax.axhline(possible, color="black", lw=0.8, ls="--", label="two independent processes")
    ax.set_xticks(list(positions), names, fontsize=7.5)
    ax.set(ylabel="speed-up over one process", xlabel="number and kind of workers, and batch_size", ylim=(0, 2.4))
    ax.legend(frameon=False, fontsize=7.5, ncol=4, loc="upper left")
    figure.savefig(path)
    plt.close(figure)


def draw_simulation(cells: Cells, path: Path) -> None:
    """Draws the predicted speed-up against the number of workers, for several batch sizes."""
    import matplotlib.pyplot as plt

    curves = [cell for cell in cells if "measured" not in cell]
    seconds_per_row = list(dict.fromkeys(cell["seconds a row"] for cell in curves))
    figure, axes = plt.subplots(1, len(seconds_per_row), figsize=(9, 3.8), sharey=True)
    for row, ax in zip(seconds_per_row, axes, strict=True):
        of_model = [cell for cell in curves if cell["seconds a row"] == row]
        for batch_size, colour in zip(dict.fromkeys(cell["batch_size"] for cell in of_model), COLOURS, strict=False):
            curve = [cell for cell in of_model if cell["batch_size"] == batch_size]
            ax.plot(
                [cell["workers"] for cell in curve],
                [cell["speed-up"] for cell in curve],
                "o-",
                ms=3,
                color=colour,
                label=f"batch_size={batch_size or 'default'}",
            )
        most = curve[0]["seconds"] * curve[0]["speed-up"] / curve[0]["serial"]
        ax.plot([1, 1000], [1, 1000], color="grey", lw=0.8, ls=":", label="ideal speed-up")
        ax.axhline(most, color="black", lw=0.8, ls="--", label="limit: set-up and pilot are not parallel")
        ax.set(xscale="log", yscale="log", xlabel="workers", title=f"{1000 * row:g} ms per row", ylim=(0.8, 300))
        ax.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1,000"])
        ax.set_yticks([1, 2, 5, 10, 20, 50, 100, 200], ["1", "2", "5", "10", "20", "50", "100", "200"])
        ax.minorticks_off()
        ax.grid(alpha=0.2)
    axes[0].set_ylabel("speed-up over one process")
    axes[-1].legend(frameon=False, fontsize=7.5, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.tight_layout()
    figure.suptitle("Simulated: 2,000 draws, N = 1,000, d = 20, m = 128, overheads of Dask", fontsize=10, y=1.03)
    figure.savefig(path)
    plt.close(figure)
