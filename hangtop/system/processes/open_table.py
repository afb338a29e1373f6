"""Opens the process table of this operating system."""

from __future__ import annotations

import sys

from hangtop.system.processes.table import ProcessTable


def open_table(*, at_leisure: bool = False) -> ProcessTable:
    """The process table of this operating system. `at_leisure`: for a source that refreshes it every second, see `LinuxTable`."""
    if sys.platform != "linux":
        from hangtop.system.processes.portable import PortableTable

        return PortableTable()
    from hangtop.system.processes.linux import LinuxTable

    return LinuxTable(at_leisure=at_leisure)
