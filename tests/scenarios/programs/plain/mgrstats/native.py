"""Means of ratings; the header is read by the C library."""

import ctypes
import struct

libc = ctypes.CDLL(None)
libc.memchr.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t)
libc.memchr.restype = ctypes.c_void_p
libc.atoi.argtypes = (ctypes.c_void_p,)


def means(body):
    """Mean rating of each item. `body`: a line "rows N", then N pairs."""
    text = ctypes.create_string_buffer(body)
    rows = libc.atoi(libc.memchr(text, ord(" "), len(body)))
    start = body.index(b"\n") + 1
    found = {}
    for item, rating in struct.iter_unpack("<if", body[start : start + 8 * rows]):
        count, total = found.get(item, (0, 0.0))
        found[item] = (count + 1, total + rating)
    return {item: total / count for item, (count, total) in found.items()}
