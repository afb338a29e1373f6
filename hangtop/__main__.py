"""`python -m hangtop`."""

from hangtop.cli.main import main

main()
