"""The types of what the package gives to programs; at run time each comes when it is asked for."""

from hangtop.api import check as check
from hangtop.api import check_async as check_async
from hangtop.api import watch as watch

__version__: str
