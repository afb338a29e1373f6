"""SQL over what was seen of a run: tables made of recordings and log files, asked by DuckDB (optional extra `query`)."""
