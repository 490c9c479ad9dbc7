"""`python -m pmcnet` is `pmcnet`."""

from pmcnet.cli import main

main()
