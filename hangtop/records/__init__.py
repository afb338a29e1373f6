"""Frozen records: what each source reads, in the words of `hangtop/ARCHITECTURE.md`.

Every record is a `msgspec.Struct`: it is compared by value, never changes, and is sent as one JSON line. Unknown is `None`, never
a guess.
"""
