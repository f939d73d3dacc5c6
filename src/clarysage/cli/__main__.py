"""``python -m clarysage.cli``, for where the ``clarysage`` command is not on the path."""

from clarysage.cli import main

if __name__ == "__main__":
    main()
