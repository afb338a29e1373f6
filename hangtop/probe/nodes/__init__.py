"""Other nodes of a run, over what the user's cluster has: ssh, srun, kubectl exec."""
