"""`python -m hangtop`."""

from hangtop.cli import main

main()
