"""The other end of a connection, if it is on this machine. Pure."""

from __future__ import annotations

from msgspec import Struct

from hangtop.records.waiting import TcpSocket, WaitObject
from hangtop.system.waits.sockets import Sockets, UnixSocket

WAITS_TO_BE_ACCEPTED = frozenset(("syn-received", "established", "close-wait"))
"""States of a connection that no process holds yet. In the others, a process has held and closed it."""


class SocketEnd(Struct, frozen=True):
    """`object`: the socket itself. `inodes`: of the sockets at the other end, one, or the listeners of a connection that was not
    accepted yet. `uid`: of these. `known`, `elsewhere`: as in `OtherEnd`."""

    object: WaitObject
    inodes: tuple[int, ...] = ()
    uid: int | None = None
    not_accepted: bool = False
    elsewhere: bool = False
    known: bool = True

    @property
    def links(self) -> frozenset[str]:
        """As `/proc/PID/fd` shows them."""
        return frozenset(f"socket:[{inode}]" for inode in self.inodes)


def socket_end(inode: int | None, sockets: Sockets, *, reads: bool = False, writes: bool = False) -> SocketEnd:
    """Of the socket with this inode. Sockets of other kinds (UDP, netlink …) have no other end that the kernel tells."""
    if inode in sockets.tcp_by_inode:
        space, row = sockets.tcp_by_inode[inode]
        shown = WaitObject("tcp", reads, writes, inode, local=row.local, remote=row.remote, tcp_state=row.state)
        return _tcp_end(shown, row, space, sockets)
    if inode in sockets.unix_by_inode:
        own = sockets.unix_by_inode[inode]
        return _unix_end(own, sockets, reads=reads, writes=writes)
    return SocketEnd(WaitObject("other socket", reads, writes, inode), known=False)


def _tcp_end(shown: WaitObject, row: TcpSocket, space: str, sockets: Sockets) -> SocketEnd:
    if row.state in ("listen", "closed"):
        return SocketEnd(shown, known=False)
    other = sockets.tcp_by_ends.get((space, row.remote, row.local))
    if other is not None and other.inode:
        return SocketEnd(shown, (other.inode,), other.uid)
    listeners = sockets.tcp_listeners(space, row.remote)
    if listeners and (other.state in WAITS_TO_BE_ACCEPTED if other is not None else is_local(row)):
        return SocketEnd(shown, tuple(each.inode for each in listeners), listeners[0].uid, not_accepted=True)
    return SocketEnd(shown, elsewhere=other is None and not is_local(row))


def is_local(row: TcpSocket) -> bool:
    """Whether the remote address is certainly ours: of the loopback network, or our own end's. The queue of a listener that is
    full drops the connection, so that only our end of it can be seen."""
    host = row.remote.rpartition(":")[0]
    return host.startswith("127.") or host == "[::1]" or host == row.local.rpartition(":")[0]


def _unix_end(own: UnixSocket, sockets: Sockets, *, reads: bool, writes: bool) -> SocketEnd:
    """The end of the client has no name; the name of the server's end tells both."""
    other = sockets.unix_by_inode.get(own.peer) if own.peer else None
    listener = sockets.unix_listeners.get(own.inode) if own.peer == 0 else None
    there = other or listener
    name = own.name or (there.name if there is not None else "")
    shown = WaitObject("unix", reads, writes, own.inode, name)
    if there is None or own.state == "listen":
        return SocketEnd(shown, known=False)
    return SocketEnd(shown, (there.inode,), there.uid, not_accepted=listener is not None)
