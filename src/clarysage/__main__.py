"""``python -m clarysage``: the command, where it is not on the path."""

from clarysage.cli import main

if __name__ == "__main__":
    main()
