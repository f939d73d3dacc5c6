"""How far a run has come: all that the loop needs to go on, so that it can be kept in a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clarysage.estimators.trace import Trace

if TYPE_CHECKING:
    from clarysage.estimators.loop import Chunk, Looks
    from clarysage.inference.estimate import Estimate
    from clarysage.protocols import Estimator


@dataclass
class Progress:
    """Draws so far, and where in a round the run is.

    Attributes
    ----------
    looks : that decisions have had at the run
    spent : model rows, as of the last look
    state : of the draws, None before the first
    made, number : draws, and chunks of them
    left : chunks of the round that are still to come, the next one last
    is_looked : whether the round is over, with the look at its end
    rounds : that are over
    preparations : of the estimator, each with the number of the next chunk and the model rows that were left then
    seconds : that earlier calls took
    is_whole : False while a chunk or a look is taken in; what an interrupt leaves then is not to be kept
    """

    looks: Looks
    spent: int
    state: Any = None
    made: int = 0
    number: int = 0
    left: list[Chunk] = field(default_factory=list)
    is_looked: bool = True
    rounds: int = 0
    preparations: list[tuple[int, float]] = field(default_factory=list)
    trace: Trace = field(default_factory=Trace)
    seconds: float = 0.0
    is_whole: bool = True

    def take(self, estimator: Estimator[Any], chunk: Chunk, part: Any) -> None:
        """Takes in the next chunk, whose draws are ``part``; merging may change the state in place."""
        self.is_whole = False
        self.state = part if self.state is None else estimator.merge(self.state, part)
        self.left.pop()
        self.made, self.number = self.made + chunk.draws, self.number + 1
        self.is_whole = True

    def look(self, current: Estimate) -> Estimate:
        """The estimate at the end of a round, taken down; says whether it is a look of decisions."""
        self.is_whole = False
        current = self.looks.taken(current)
        self.trace.add(current)
        self.spent = current.model_rows
        self.end_round()
        self.is_whole = True
        return current

    def end_round(self) -> None:
        """Without a look, where there is nothing to decide."""
        self.is_looked, self.rounds = True, self.rounds + 1
