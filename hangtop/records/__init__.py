"""Frozen records: what each source says, in the words of the README's glossary.

Every record is a `msgspec.Struct`, so that it is compared by value, never changes, and travels as one JSON line.
Unknown is `None`, never a guess.
"""
