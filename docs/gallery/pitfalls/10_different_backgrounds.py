"""
Comparing runs with different backgrounds
=========================================

**Rule: compare explanations with the same background.** One model, and the rows of two regions; the model is as good in
one as in the other. Without ``background=``, each explanation replaces removed features by those of its own rows, and
where incomes differ more they seem to matter more. With one background for both, a difference is one of the rows
explained.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import clarysage as cs
