"""When evidence is asked for while a run is quiet: stacks, and what debug servers tell."""

AT_PART = 0.5
"""The first look comes at this part of the limit, so that the verdict is there when the limit is."""
SECOND_LOOK_S = 2.0
"""A second look this much later tells moved from still."""
AGAIN_S = 20.0
"""While the run stays quiet."""
