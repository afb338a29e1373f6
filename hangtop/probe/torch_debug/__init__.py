"""PyTorch's own debug server, where a run opened it: stacks and the flight recorder of all ranks over HTTP."""
