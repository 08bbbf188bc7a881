"""Where text may be sent: which URLs are taken, and which addresses a name may lead to.

A name is checked by what it leads to, at each connection: who owns a name may let it lead to a machine inside.
"""

import ipaddress
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import httpx

from headwater.errors import ValidationError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# Answer with the credentials of the machine that asks. The first looks public, the others lie where `private` reaches; all
# the rest of their kind are link-local, and never reached.
_METADATA: Final = tuple(map(ipaddress.ip_address, ("168.63.129.16", "100.100.100.200", "fd00:ec2::254")))
_PRIVATE: Final = tuple(
    map(ipaddress.ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"))
)
# Written out, because `is_global` says different things in different versions of Python.
_PUBLIC_IPV6: Final = ipaddress.ip_network("2000::/3")
_SPECIAL: Final = tuple(
    map(
        ipaddress.ip_network,
        (
            *("192.0.0.0/24", "192.88.99.0/24"),  # the first for protocols, the second leads into tunnels
            *("2001::/23", "2002::/16"),  # tunnels to IPv4 addresses among them
            *("2001:db8::/32", "3fff::/20"),  # of no machine: for examples
        ),
    )
)
_TRANSLATED: Final = ipaddress.ip_network("64:ff9b::/96")  # an IPv4 address behind a gateway


@dataclass(frozen=True, slots=True)
class AllowedAddresses:
    """Which addresses may be connected to, beside public ones."""

    loopback: bool = False
    private: bool = False
    public: bool = True

    def allows(self, address: str) -> bool:
        """Whether ``address`` is one of them. What is none at all is not."""
        try:
            found = _unwrapped(ipaddress.ip_address(address))
        except ValueError:
            return False
        if found.is_loopback:
            return self.loopback
        if found in _METADATA:
            return False
        if any(found in network for network in _PRIVATE):
            return self.private
        return self.public and _is_public(found)


def _is_public(address: Address) -> bool:
    if any(address in network for network in _SPECIAL):
        return False
    if isinstance(address, ipaddress.IPv6Address):
        return address in _PUBLIC_IPV6
    return address.is_global and not address.is_multicast and not address.is_reserved


def _unwrapped(address: Address) -> Address:
    """The IPv4 address that an IPv6 one stands for, or itself."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _TRANSLATED:
            return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def check_base_url(url: str) -> httpx.URL:
    """``url`` taken apart: absolute, of http or https, with nothing but a host, a port and a path."""
    # A name of another script may look like one that is trusted: it is given as it is registered, xn--….
    if not isinstance(url, str) or not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise ValidationError("The URL must be printable ASCII without spaces: write names of other scripts as xn--….")
    try:
        parts, found = urlsplit(url), httpx.URL(url)
        port = parts.port
    except (ValueError, httpx.InvalidURL):
        raise ValidationError("The URL is malformed: write https://HOST/PATH.") from None
    host = host_of(found)
    if found.scheme not in ("http", "https") or not host or host != parts.hostname or "%" in host or port == 0:
        raise ValidationError("The URL must be absolute, as https://HOST/PATH.")
    if "@" in parts.netloc:
        raise ValidationError("The URL must hold no user and no password: the key is given apart from it.")
    if "?" in url or "#" in url:
        raise ValidationError("The URL must end with its path, without ? and #.")
    return found


def check_allowed(url: httpx.URL, reach: AllowedAddresses) -> None:
    """Refuses a ``url`` that is out of ``reach`` by what it says. What it leads to is looked at when it is connected to."""
    host = host_of(url)
    if is_loopback_name(host):
        if not reach.loopback:
            raise ValidationError(f"{host} is this machine, which is asked with allow_loopback only.")
    elif url.scheme == "http":
        raise ValidationError(f"{host} must be asked over https: http is for this machine, with allow_loopback.")
    elif _is_address(host) and not reach.allows(host):
        raise ValidationError(f"{host} may not be asked: {refusal(reach)}.")


def host_of(url: httpx.URL) -> str:
    """The host as it goes over the wire; ``url.host`` is for people, and turns xn--… into another script."""
    return url.raw_host.decode("ascii")


def refusal(reach: AllowedAddresses) -> str:
    """Which addresses are not out of ``reach``, and what widens it."""
    if not reach.public:
        return "over http only this machine itself is asked"
    allowed = ["public addresses"]
    allowed += ["those of networks inside" if reach.private else "with allow_private those of networks inside"]
    allowed += ["this machine" if reach.loopback else "with allow_loopback this machine"]
    return f"text goes to {', '.join(allowed[:-1])} and {allowed[-1]}"


def is_loopback_name(host: str) -> bool:
    """Whether ``host`` says that it is this machine. What it leads to is another question."""
    name = host.lower().removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    return _is_address(name) and _unwrapped(ipaddress.ip_address(name)).is_loopback


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


__all__ = ["AllowedAddresses", "check_allowed", "check_base_url", "host_of", "is_loopback_name", "refusal"]
