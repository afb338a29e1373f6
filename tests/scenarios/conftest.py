"""What the tests below this folder share."""

from tests.fakes.side_by_side import pytest_configure, pytest_pyfunc_call

__all__ = ["pytest_configure", "pytest_pyfunc_call"]
