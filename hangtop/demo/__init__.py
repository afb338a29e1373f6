"""A real little training run of a few processes, to see hangtop at work without a GPU: it has stages and really hangs."""
