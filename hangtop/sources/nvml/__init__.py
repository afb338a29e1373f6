"""The GPUs of NVIDIA, read through NVML. Every call may hang for good: each GPU is asked by a thread of its own."""
