"""``clarysage doctor``: whether clarysage can work here, and with what."""

from __future__ import annotations

import json

import typer

from clarysage._utils.atomic import write_whole
from clarysage.cli.console import FAILED, clean_stdout, complain, guarded, print_data, speaker
from clarysage.cli.options import ConsoleOptions, JsonOptions, with_groups
from clarysage.cli.output import STDOUT, Delivery


@with_groups
def doctor(*, written: JsonOptions, console: ConsoleOptions) -> None:
    """Tell what is installed and whether it works: for a look around, and for reports of errors.

    Versions of what clarysage needs, optional parts with what each is for and how to get it, cores and threads, where
    compiled code is kept, and a small explanation whose values are known. Optional libraries are not loaded.

    Prints a text, or JSON with --json -. Exit codes: 0 ok, 1 something that is needed is missing, too old or broken.
    """
    say, json_file = speaker(console.quiet), written.json_file
    with guarded(say, debug=console.debug):
        with clean_stdout():
            from clarysage.cli.doctor import Checkup

            Delivery(json_file, {}).check([])
            found = Checkup.done()
        data = json.dumps(found.to_dict(), indent=1, ensure_ascii=False)
        if json_file == STDOUT:
            print_data(data)
        else:
            print(found.text(), flush=True)
        if json_file is not None and json_file != STDOUT:
            write_whole(f"{data}\n", json_file)
            say(f"wrote {json_file}")
        if found.problems:
            complain("; ".join(found.problems))
            raise typer.Exit(FAILED)
