"""``clarysage doctor``: checks the installation."""

from __future__ import annotations

import json

import typer

from clarysage._utils.atomic import write_atomically
from clarysage.cli.console import FAILED, clean_stdout, handled_errors, note_printer, print_data, print_error
from clarysage.cli.options import ConsoleOptions, JsonOptions, with_option_groups
from clarysage.cli.output import STDOUT, OutputFiles


@with_option_groups
def doctor(*, written: JsonOptions, console: ConsoleOptions) -> None:
    """Check the installation: versions, optional libraries, cores and threads. Useful for bug reports.

    Shows versions of required libraries, the purpose of optional libraries and how to install them, cores and threads,
    the cache folder of compiled code, and a test explanation with known values. Optional libraries are not loaded.

    Prints text, or JSON with --json -. Exit codes: 0 success, 1 a required library is missing, too old or broken,
    2 wrong usage.
    """
    say, json_file = note_printer(console.quiet), written.json_file
    with handled_errors(say, debug=console.debug):
        with clean_stdout():
            from clarysage.cli.diagnosis import Diagnosis

            OutputFiles(json_file, {}).check([])
            diagnosis = Diagnosis.run()
        data = json.dumps(diagnosis.to_dict(), indent=1, ensure_ascii=False)
        if json_file == STDOUT:
            print_data(data)
        else:
            print(diagnosis.text(), flush=True)
        if json_file is not None and json_file != STDOUT:
            write_atomically(f"{data}\n", json_file)
            say(f"wrote {json_file}")
        if diagnosis.problems:
            print_error("; ".join(diagnosis.problems))
            raise typer.Exit(FAILED)
