"""`python -m minigrad` is the command `minigrad`."""

import sys

from minigrad.course.cli import main

if __name__ == "__main__":  # the process that parses long JSON reads this file too
    sys.exit(main())
