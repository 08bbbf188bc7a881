"""Where text may be sent, and where never."""

import httpx
import pytest

from headwater.errors import ValidationError
from headwater.transport.addresses import AllowedAddresses, check_allowed, check_base_url

PUBLIC = ["8.8.8.8", "93.184.215.14", "2606:4700::1111", "2a00:1450:4001::64", "::ffff:8.8.8.8", "64:ff9b::808:808"]
LOOPBACK = ["127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"]
PRIVATE = [
    "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.127.255.255", "fc00::1", "fd12::1",
    "::ffff:10.0.0.1", "64:ff9b::a00:1",
]  # fmt: skip
NEVER = [
    "169.254.169.254", "169.254.0.1", "fe80::1", "fe80::1%eth0", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe",
    "168.63.129.16", "100.100.100.200", "fd00:ec2::254",  # metadata
    "0.0.0.0", "0.1.2.3", "::", "224.0.0.1", "239.255.255.250", "ff02::1", "240.0.0.1", "255.255.255.255",
    "192.0.0.1", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "192.88.99.1",
    "2001::1", "2002:7f00:1::1", "2002:a00:1::1", "2001:db8::1", "3fff::1", "fec0::1", "64:ff9b:1::1", "::7f00:1",
    "::ffff:0:7f00:1", "100::1", "5f00::1", "4000::1", "", "localhost", "127.1", "2130706433", "1.2.3.4.5",
]  # fmt: skip


def taken(url: str, reach: AllowedAddresses) -> httpx.URL:
    found = check_base_url(url)
    check_allowed(found, reach)
    return found


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_reached(address: str) -> None:
    assert AllowedAddresses().allows(address) and AllowedAddresses(loopback=True, private=True).allows(address)
    assert not AllowedAddresses(loopback=True, public=False).allows(address)


@pytest.mark.parametrize("address", LOOPBACK)
def test_this_machine_is_reached_only_when_allowed(address: str) -> None:
    assert AllowedAddresses(loopback=True).allows(address) and AllowedAddresses(loopback=True, public=False).allows(
        address
    )
    assert not AllowedAddresses(private=True).allows(address)


@pytest.mark.parametrize("address", PRIVATE)
def test_networks_inside_are_reached_only_when_allowed(address: str) -> None:
    assert AllowedAddresses(private=True).allows(address)
    assert not AllowedAddresses(loopback=True).allows(address)


@pytest.mark.parametrize("address", NEVER)
def test_what_is_neither_is_never_reached(address: str) -> None:
    assert not AllowedAddresses(loopback=True, private=True).allows(address)


@pytest.mark.parametrize(
    "url", ["https://rerank.example", "HTTPS://Rerank.Example:8443/v1/", "https://8.8.8.8/", "https://[2606:4700::1111]/x",
            "https://xn--bcher-kva.example/@x"]
)  # fmt: skip
def test_absolute_https_urls_are_taken(url: str) -> None:
    assert taken(url, AllowedAddresses()).scheme == "https"


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("", "absolute"),
        ("rerank.example", "absolute"),
        ("//rerank.example/v1", "absolute"),
        ("ftp://rerank.example", "absolute"),
        ("file:///etc/passwd", "absolute"),
        ("https:/rerank.example", "absolute"),
        ("https://", "absolute"),
        ("https://rerank.example:0", "absolute"),
        ("https://rerank.example:99999", "malformed"),
        ("https://rerank.example:x", "malformed"),
        ("https://[::1", "malformed"),
        ("https://[fe80::1%25eth0]/", "absolute"),
        ("https://user@rerank.example", "no user"),
        ("https://user:secret@rerank.example", "no user"),
        ("https://@rerank.example", "no user"),
        ("https://rerank.example/v1#m", "end with its path"),
        ("https://rerank.example/v1#", "end with its path"),
        ("https://rerank.example/v1?", "end with its path"),
        ("https://rerank.example/v1?key=secret", "end with its path"),
        ("https://bücher.example", "ASCII"),
        ("https://rerank。example", "ASCII"),
        ("https://rerank.example\\@other.example", "ASCII"),
        ("https://rerank.example/ v1", "ASCII"),
        ("https://rerank.example/\r\nHost: other", "ASCII"),
        ("http://rerank.example", "over https"),
        ("http://10.0.0.1", "over https"),
        ("http://localhost.example", "over https"),
        ("http://localhost:8080", "allow_loopback"),
        ("https://localhost.", "allow_loopback"),
        ("https://tei.localhost", "allow_loopback"),
        ("https://127.0.0.1", "allow_loopback"),
        ("https://[::1]", "allow_loopback"),
        ("https://[::ffff:127.0.0.1]", "allow_loopback"),
        ("https://10.0.0.1", "with allow_private"),
        ("https://169.254.169.254/latest", "public addresses"),
        ("https://[fd00:ec2::254]/latest", "public addresses"),
    ],
)
def test_any_other_url_is_refused_in_one_sentence_that_says_no_secret(url: str, sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence) as refused:
        taken(url, AllowedAddresses())
    assert "secret" not in str(refused.value)


def test_this_machine_and_networks_inside_are_taken_when_allowed() -> None:
    assert taken("http://localhost:8080", AllowedAddresses(loopback=True)).port == 8080
    assert taken("http://[::1]:8080/v1", AllowedAddresses(loopback=True)).host == "::1"
    assert taken("https://10.0.0.1/v1", AllowedAddresses(private=True)).host == "10.0.0.1"
    with pytest.raises(ValidationError, match="over https"):
        taken("http://10.0.0.1/v1", AllowedAddresses(private=True, loopback=True))
    with pytest.raises(ValidationError, match="may not be asked"):
        taken("https://169.254.169.254/", AllowedAddresses(private=True, loopback=True))


@pytest.mark.parametrize("url", [None, 3, b"https://rerank.example"])
def test_a_url_is_a_text(url: object) -> None:
    with pytest.raises(ValidationError):
        taken(url, AllowedAddresses())  # type: ignore[arg-type]
