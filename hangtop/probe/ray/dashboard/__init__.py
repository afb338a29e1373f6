"""What a cluster's dashboard tells, asked over HTTP that is trusted with nothing."""
