"""The commands of `hangtop`: one file each, plain functions. `hangtop.cli` gives them their arguments."""
