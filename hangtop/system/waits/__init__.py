"""What threads wait for in the kernel, and which processes hold the other end."""
