"""`python -m tachograph.control` is `tacho`."""

import sys

from tachograph.control import main

if __name__ == "__main__":
    sys.exit(main())
