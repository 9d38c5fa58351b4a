"""The machinery of the commands. Each imports it before anything that Python 3.10 lacks."""

import sys

if sys.version_info < (3, 11):
    sys.exit(f"error: this is Python {sys.version.split()[0]}; run it with Python 3.11 or later")
