"""IP addresses and subnets, for the IP functions of the query language.

Source: "IP address string functions" of the CloudWatch Logs user guide. Undocumented, decided here:
an octet with a leading zero and an IPv6 address with a zone (`%eth0`) are invalid; an IPv4 address
is in no IPv6 subnet.
"""

import ipaddress
from functools import lru_cache

_REMEMBERED = 65_536  # logs repeat their addresses


@lru_cache(_REMEMBERED)
def is_ip(text: str, version: int) -> bool:
    """Whether `text` is an address of IP `version` 4 or 6, or of either for 0."""
    address = _address(text)
    return address is not None and version in (0, address.version)


@lru_cache(_REMEMBERED)
def in_subnet(text: str, subnet: str, version: int) -> bool:
    """Whether the address `text` is in `subnet` (CIDR notation), both of IP `version`, or of the
    same version for 0."""
    address, network = _address(text), network_of(subnet)
    if address is None or network is None or address.version != network.version:
        return False
    return version in (0, address.version) and address in network


@lru_cache(_REMEMBERED)
def network_of(subnet: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """The subnet in CIDR notation; None if invalid, or if the address isn't the start of
    the block."""
    _, slash, length = subnet.partition("/")
    if not slash or not length.isascii() or not length.isdigit() or "%" in subnet:
        return None
    try:
        return ipaddress.ip_network(subnet)
    except ValueError:
        return None


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    if "%" in text:
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def ipv4_number(text: str) -> int | None:
    """An IPv4 address as a number from 0 to 2**32 - 1; None for anything else."""
    address = _address(text)
    return int(address) if address is not None and address.version == 4 else None
