"""What the cluster's own Python runs. A folder of its own, because that Python looks for modules beside the program."""
