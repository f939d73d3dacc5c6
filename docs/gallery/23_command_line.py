"""
The command line and the report
===============================

A model file and two tables, without a line of Python: the command prints a table and writes a page to send to others.
The page is a single file that loads nothing from elsewhere.
"""

import html
import subprocess
import sys
import tempfile
from pathlib import Path

import lightgbm
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

import clarysage as cs

table = load_diabetes(as_frame=True).frame.round(4)
train, test = train_test_split(table, test_size=0.5, random_state=0)
model = lightgbm.LGBMRegressor(n_estimators=30, num_leaves=6, verbose=-1).fit(
    train.drop(columns="target"), train["target"]
)

folder = Path(tempfile.mkdtemp())
model.booster_.save_model(folder / "model.txt")
train.to_csv(folder / "train.csv", index=False)
test.to_csv(folder / "test.csv", index=False)

command = """clarysage explain model.txt test.csv --target target --background train.csv
    --html report.html --json sage.json --quiet"""
shell = [sys.executable, "-m", *command.split()]
done = subprocess.run(shell, cwd=folder, check=True, capture_output=True, text=True)
print(f"{command}\n{done.stdout}")


class Frame:
    """A page within this page."""

    def __init__(self, page):
        self.page = page

    def _repr_html_(self):
        style = "width: 100%; height: 45rem"
        return f'<iframe title="the report" style="{style}" srcdoc="{html.escape(self.page)}"></iframe>'


# %%
# The page has all that the command knows: sentences, a chart, a table to sort and search, and how it was computed.

Frame((folder / "report.html").read_text())

# %%
# Python reads what the command wrote.
cs.load(folder / "sage.json").plot(title="sage.json")
