"""What becomes of an explanation: files, a table or JSON on stdout, an exit code."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from clarysage.cli.option_checks import check_about
from clarysage.cli.output_files import check_picture, check_writable, picture
from clarysage.cli.speech import NOT_CONVERGED, Say, clean_stdout
from clarysage.errors import InputError

STDOUT = Path("-")


@dataclass(frozen=True)
class Delivery:
    """Where an explanation goes: JSON and a picture into files, if asked for, and a table or JSON to stdout."""

    json_file: Path | None
    plot: Path | None
    about: str | None = None
    tests: bool = False

    def check(self, inputs: list[Path]) -> None:
        """Raise, before the long computation, if a file could not be written after it."""
        for option, path in (("--json", self.json_file), ("--plot", self.plot)):
            if path is not None and path != STDOUT:
                check_writable(option, path, inputs)
        if self.plot is not None:
            check_picture("--plot", self.plot)
        if self.about is not None:
            check_about(self.about)
        if self.json_file and self.plot and self.json_file.resolve() == self.plot.resolve():
            raise InputError("--plot", got=f"{self.plot}, as for --json", wanted="a file of its own")

    def deliver(self, explanation: Any, say: Say) -> None:
        """Write the files, print the explanation even if that fails, and exit with 3 if it did not converge."""
        about = self._about(explanation, say)
        data = json.dumps(explanation.to_dict(), allow_nan=False, indent=1, ensure_ascii=False)
        try:
            self._write(explanation, say, about)
        finally:
            shown = data if self.json_file == STDOUT else explanation.table(about=about, tests=self.tests)
            print(shown, flush=True)
        if not explanation.stopped.is_wanted:
            say(f"not converged. {explanation.stopped.value}")
            raise typer.Exit(NOT_CONVERGED)

    def _about(self, explanation: Any, say: Say) -> str:
        """What intervals are to be about, or what they can be."""
        if self.about is None or self.about == "data" or self.about in explanation.targets:
            return self.about or str(explanation.shown)
        say(f"--about {self.about}: not known for this method or removal; intervals are about the {explanation.shown}.")
        return str(explanation.shown)

    def _write(self, explanation: Any, say: Say, about: str) -> None:
        if self.json_file is not None and self.json_file != STDOUT:
            explanation.save(self.json_file)
            say(f"wrote {self.json_file}")
        if self.plot is not None:
            with clean_stdout():
                self.plot.write_bytes(picture(explanation, self.plot.suffix, about))
            say(f"wrote {self.plot}")
