"""Integrated gradients of PyTorch modules: in eval mode, in batches, and with no trace left in the module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from clarysage.errors import ModelError
from clarysage.models.outputs import linked_by
from clarysage.models.predictor import Predictor
from clarysage.models.torch import check_tensor, evaluating, inputs_of
from clarysage.protocols import ability

AT_ONCE = 2048  # rows on the way from the baseline, whose gradients are held


@dataclass(frozen=True)
class Attributed:
    """Attributions (n, t, d) of t outputs of examples to their columns, and model rows.

    ``change`` (n, t) is by how much outputs differ from those of the baseline: what attributions add up to.
    """

    values: np.ndarray
    change: np.ndarray
    rows: int

    @property
    def gap(self) -> np.ndarray:
        """By how much attributions fail to add up, (n, t)."""
        return np.asarray(np.abs(self.values.sum(axis=2) - self.change))


class Differentiable(Protocol):
    """A function of rows that has gradients."""

    def gradients(self, link: str | None) -> Gradients:
        """Its gradients, once the link was applied to what it returns."""
        ...


def gradients_of(f: Predictor) -> Gradients | None:
    """The gradients of a predictor; None where it was made of something without them."""
    function, link = linked_by(f.function)
    differentiable = ability(function, Differentiable)
    return None if differentiable is None else differentiable.gradients(link)


@dataclass(frozen=True)
class Gradients:
    """A module, and what is made of its outputs: "softmax", "sigmoid" or nothing."""

    module: Any
    link: str | None

    def integrated(
        self, rows: np.ndarray, baseline: np.ndarray, steps: int, wanted: np.ndarray | None = None
    ) -> Attributed:
        r"""Integrated gradients of rows (n, d), from a baseline (d,), by the midpoints of so many steps.

        .. math:: IG_i(x) = (x_i - b_i) \frac{1}{m} \sum_{s=1}^m \partial_i f\big(b + \tfrac{s - 1/2}{m} (x - b)\big)

        ``wanted`` (n,) is the one output to look at in each row, None for all of them.
        """
        import torch

        at_once = max(1, AT_ONCE // steps)
        with evaluating(self.module), torch.inference_mode(False), torch.enable_grad():
            start = self._outputs(inputs_of(self.module, baseline[None])).detach()
            parts = [
                self._batch(
                    inputs_of(self.module, rows[first : first + at_once]),
                    inputs_of(self.module, baseline),
                    start,
                    steps,
                    None if wanted is None else wanted[first : first + at_once],
                )
                for first in range(0, len(rows), at_once)
            ]
        values, change = (np.concatenate([part[place] for part in parts]) for place in (0, 1))
        return Attributed(values, change, len(rows) * (steps + 1) + 1)

    def _batch(
        self, x: Any, baseline: Any, start: Any, steps: int, wanted: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        import torch

        n, d = x.shape
        change = self._outputs(x).detach() - start
        shares = (torch.arange(steps, dtype=x.dtype, device=x.device) + 0.5) / steps
        way = (baseline + shares[None, :, None] * (x - baseline)[:, None]).reshape(n * steps, d).requires_grad_()
        outputs = self._outputs(way)
        if wanted is not None:
            places = torch.as_tensor(wanted, device=x.device)[:, None]
            outputs = outputs.gather(1, places.repeat_interleave(steps, dim=0))
            change = change.gather(1, places)
        last = outputs.shape[1] - 1
        slopes = (self._slopes(outputs[:, k], way, is_last=k == last) for k in range(last + 1))
        means = torch.stack([one.reshape(n, steps, d).double().mean(dim=1) for one in slopes], dim=1)  # (n, t, d)
        values = means * (x - baseline).double()[:, None]
        return values.cpu().numpy(), change.double().cpu().numpy()

    def _slopes(self, output: Any, way: Any, *, is_last: bool) -> Any:
        """Gradients of an output (n,) at the rows it was made of."""
        import torch

        if not output.requires_grad:
            raise ModelError(
                "model",
                got=f"outputs of {type(self.module).__name__} that carry no gradients",
                wanted="a module that PyTorch can differentiate",
            )
        (found,) = torch.autograd.grad(output.sum(), way, retain_graph=not is_last, allow_unused=True)
        return torch.zeros_like(way) if found is None else found

    def _outputs(self, rows: Any) -> Any:
        """Outputs (n, k), of which the module may have made what it likes."""
        import torch

        raw = self.module(rows * 1)  # a module that writes into its rows must not write into these
        check_tensor(raw, self.module)
        outputs = raw.reshape(len(rows), -1)
        if self.link == "softmax":
            return torch.softmax(outputs, dim=1)
        if self.link == "sigmoid":
            positive = torch.sigmoid(outputs)
            return torch.cat([1 - positive, positive], dim=1)
        return outputs
