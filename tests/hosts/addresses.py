"""Names and addresses of the hosts: n1, n2, …"""

DEVICE = "ht0"


def name_of(number: int) -> str:
    return f"n{number}"


def address_of(number: int) -> str:
    return f"10.19.0.{number}"
