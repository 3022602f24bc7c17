"""The IP address functions; `addresses` defines what an address is."""

from stampede.insights.expressions.functions.addresses import network_of
from stampede.insights.expressions.functions.function import Build, Function, boolean
from stampede.insights.language.syntax import Call, Text, refusal
from stampede.insights.values import Kind, Value, as_text

_VALID, _IN_SUBNET = "insights_is_ip", "insights_in_subnet"


def _valid(version: int) -> Function:
    return Function(1, 1, boolean(f"{_VALID}({{}}, {version})"), python=_VALID)


def _in_subnet(version: int) -> Function:
    def check(call: Call) -> None:
        subnet = call.arguments[1]
        if not isinstance(subnet, Text):
            return
        network = network_of(subnet.value)
        if network is None or version not in (0, network.version):
            wanted = f"an IPv{version} subnet" if version else "a subnet"
            message = (
                f"{subnet.value!r} is not {wanted}; write the start of the block and its length, "
                "as in 192.0.2.0/24"
            )
            raise refusal(subnet.span, message)

    return Function(
        2, 2, boolean(f"{_IN_SUBNET}({{}}, {{}}, {version})"), check=check, python=_IN_SUBNET
    )


def _private() -> Build:
    """RFC 1918: three ranges of IPv4."""
    ranges = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")

    def build(args: list[Value]) -> Value:
        tests = (f"{_IN_SUBNET}({as_text(args[0])}, '{block}', 4)" for block in ranges)
        return Value(f"({' OR '.join(tests)})", Kind.BOOLEAN)

    return build


def _number(args: list[Value]) -> Value:
    return Value(f"insights_ipv4_number({as_text(args[0])})", Kind.INTEGER)


ADDRESS_FUNCTIONS: dict[str, Function] = {
    "isvalidip": _valid(0),
    "isvalidipv4": _valid(4),
    "isvalidipv6": _valid(6),
    "isipinsubnet": _in_subnet(0),
    "isipv4insubnet": _in_subnet(4),
    "isipv6insubnet": _in_subnet(6),
    "isprivateip": Function(1, 1, _private(), python=_IN_SUBNET),
    "ipv4tonumber": Function(1, 1, _number, python="insights_ipv4_number"),
}
