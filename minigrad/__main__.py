"""`python -m minigrad` is the command `minigrad`."""

import sys

from minigrad.course.cli import main

sys.exit(main())
