"""Whether an action did what it was to do, and whether a start would succeed."""
