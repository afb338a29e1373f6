"""What runs on another node: it tells what /proc says of a run's processes there, has py-spy take their stacks, and does what a
plan says.

Python 3.9 and its library are all that it needs, and it imports nothing but what is sent. It comes through the pipe by which it
is then asked (`hangtop.probe.nodes.far_program`), leaves nothing behind, listens nowhere, and ends with the pipe."""
