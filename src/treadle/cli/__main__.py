"""`python -m treadle.cli` is `treadle`."""

from treadle.cli.main import main

main()
