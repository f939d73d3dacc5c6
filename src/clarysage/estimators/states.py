"""What the file of a checkpoint may hold: the states of all estimators, and how far a run has come."""

from __future__ import annotations

from clarysage.estimators.closed_form import Answers
from clarysage.estimators.draws import Draws
from clarysage.estimators.exact import Table
from clarysage.estimators.leave_one_out import Parts
from clarysage.estimators.loop import Chunk, Looks
from clarysage.estimators.paired_walks import Walked
from clarysage.estimators.permutation_importance import Repeated
from clarysage.estimators.progress import Progress
from clarysage.estimators.surrogate_walks import Staged
from clarysage.estimators.trace import Trace
from clarysage.inference.influence import BackgroundInfluence, InfluenceSums
from clarysage.inference.moments import Moments
from clarysage.inference.stratified import StratifiedMoments

STATES: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        Progress, Chunk, Looks, Trace,
        Answers, Draws, Parts, Repeated, Staged, Table, Walked,
        BackgroundInfluence, InfluenceSums, Moments, StratifiedMoments,
    )
}  # fmt: skip
