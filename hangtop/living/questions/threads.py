"""Every thread, with its Python stack."""

import sys
import threading
import traceback

names = {thread.ident: thread.name for thread in threading.enumerate()}
for ident, frame in sys._current_frames().items():
    if ident != threading.get_ident():
        print(f"{names.get(ident, ident)}:")
        for line in traceback.format_stack(frame):
            print(line, end="")
