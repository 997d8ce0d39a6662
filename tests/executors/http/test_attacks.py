"""The attack list: ways into the network behind a worker, none of which may work.

`OUTSIDE` is a loopback address that the guard takes for a public one in these tests, so that a target out
there can be played; every other loopback address is what it is. `prize` is what no call may ever reach.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fencepost.errors import InvalidSpec, PermanentFailure, RetryableFailure, RunFailure
from fencepost.executors.http.client import Hop, send
from fencepost.executors.http.executor import HttpExecutor
from fencepost.executors.http.target import parse_target
from tests.executors.http.calls import OUTSIDE, Names, calling, with_an_outside
from tests.executors.http.servers import Server, said, served
from tests.executors.runs import make_run


@pytest.fixture
async def prize() -> AsyncIterator[Server]:
    async with served(said(200, b"PRIZE"), host="127.0.0.1") as server:
        yield server
        assert server.connections == 0, "the guard let a call through"


def outside(port: int, path: str = "/", *also: int, **words: Any) -> HttpExecutor:
    """A call of a target on the internet, which plays by the rules of one."""
    given: dict[str, Any] = {"ports": [port, *also], "schemes": ["http"], **words}
    return calling(f"http://{OUTSIDE}:{port}{path}", **given)


LOOPBACK = [
    *("127.0.0.1", "127.1", "127.0.1", "0x7f000001", "0x7f.1", "2130706433", "0177.0.0.1", "017700000001"),
    *("0", "0.0.0.0", "00000000", "127.0.0.1.", "127.000.000.001", "127.0.0.0x1"),
    *("[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[0:0:0:0:0:ffff:7f00:1]", "[::7f00:1]", "[::]"),
    *(
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[::ffff:0:127.0.0.1]",
        "[::1%25lo]",
        "[::1%lo]",
    ),
]
NAMED = ["localhost", "localhost.", "LOCALHOST", "x.localhost", "x.LocalHost."]
METADATA = [
    *("169.254.169.254", "0xa9fea9fe", "2852039166", "0251.0376.0251.0376", "169.254.43518", "169.16689662"),
    *("[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[fd00:ec2::254]", "[64:ff9b::a9fe:a9fe]"),
    *("[fe80::a9fe:a9fe]", "100.100.100.200", "169.254.169.254."),
]
DISGUISED = [
    *(
        "１２７.０.０.１",
        "①②⑦.⓪.⓪.①",
        "127。0。0。1",
        "127.0.0.1\u200b",
        "ｌｏｃａｌｈｏｓｔ",
        "ⓛocalhost",
        "exаmple.org",
    ),
    *(
        "%31%32%37.0.0.1",
        "127.0.0.1%00.example.org",
        "exa mple.org",
        "example.org\\@127.0.0.1",
        "a_b..c",
        "-x.test",
    ),
    *(
        "127.0.0.1\t",
        "\r\n127.0.0.1",
        "example.org:80:80",
        "[127.0.0.1]",
        "[::1",
        "::1",
        "",
        ".",
        "x" * 64 + ".test",
    ),
]


@pytest.mark.parametrize("host", [*LOOPBACK, *NAMED, *METADATA, *DISGUISED])
async def test_no_spelling_of_a_host_gets_past_the_definition(host: str, prize: Server) -> None:
    with pytest.raises(InvalidSpec):
        calling(f"http://{host}:{prize.port}/", schemes=["http"], ports=[prize.port])


@pytest.mark.parametrize("host", [*LOOPBACK, *NAMED, *METADATA])
async def test_no_spelling_of_a_host_gets_past_a_redirect(
    host: str, prize: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_an_outside(monkeypatch)
    location = f"http://{host}:{prize.port}/"
    async with served(said(302, headers=[("Location", location)]), host=OUTSIDE) as server:
        with pytest.raises(PermanentFailure):
            await outside(server.port, "/", prize.port, redirects=3).execute(make_run())
    assert len(server.requests) == 1


async def test_this_hosts_own_name_is_refused_once_it_is_looked_up(prize: Server) -> None:
    names = Names({"worker-7.test": [["127.0.0.1"]]})
    call = calling(f"http://worker-7.test:{prize.port}/", resolve=names, schemes=["http"], ports=[prize.port])
    with pytest.raises(PermanentFailure, match=r"is at 127\.0\.0\.1, which is loopback"):
        await call.execute(make_run())


ANSWERS = [
    *(["127.0.0.1"], ["10.1.2.3"], ["169.254.169.254"], ["::1"], ["::ffff:127.0.0.1"], ["fd00:ec2::254"]),
    *(["8.8.8.8", "127.0.0.1"], ["127.0.0.1", "8.8.8.8"], ["2606:4700::1111", "fe80::1%eth0"], ["0.0.0.0"]),
]


@pytest.mark.parametrize("answer", ANSWERS)
async def test_a_name_that_leads_inside_is_not_called(answer: list[str], prize: Server) -> None:
    names = Names({"inside.test": [answer]})
    call = calling(f"http://inside.test:{prize.port}/", resolve=names, schemes=["http"], ports=[prize.port])
    with pytest.raises(PermanentFailure, match=r"refused by the guard: inside\.test is at "):
        await call.execute(make_run())


async def test_a_name_is_looked_up_once_and_the_connection_goes_where_that_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rebinding: the first answer passes, the second leads inside, on the same port."""
    with_an_outside(monkeypatch)
    async with (
        served(said(200, b"outside"), host=OUTSIDE) as server,
        served(said(200, b"PRIZE"), port=server.port) as inside,
    ):
        names = Names({"rebind.test": [[OUTSIDE], ["127.0.0.1"]]})
        url = f"http://rebind.test:{server.port}/"
        call = calling(url, resolve=names, schemes=["http"], ports=[server.port])
        assert await call.execute(make_run()) == "outside"
        assert names.asked == ["rebind.test"]
        assert server.requests[0].headers["host"] == f"rebind.test:{server.port}"
        with pytest.raises(PermanentFailure, match=r"is at 127\.0\.0\.1"):
            await call.execute(make_run())
        assert inside.connections == 0


async def test_every_hop_is_looked_up_and_checked_anew(
    monkeypatch: pytest.MonkeyPatch, prize: Server
) -> None:
    with_an_outside(monkeypatch)
    async with served(said(307, headers=[("Location", "/again")]), host=OUTSIDE) as server:
        names = Names({"rebind.test": [[OUTSIDE], ["127.0.0.1"]]})
        url = f"http://rebind.test:{server.port}/"
        call = calling(url, resolve=names, schemes=["http"], ports=[server.port], redirects=5)
        with pytest.raises(PermanentFailure, match="refused by the guard"):
            await call.execute(make_run())
    assert len(server.requests) == 1


ELSEWHERE = [
    *("file:///etc/passwd", "ftp://example.org/", "gopher://127.0.0.1:6379/_INFO", "javascript:alert(1)"),
    *("data:text/plain,x", "//127.0.0.1:{port}/", "http:\\\\127.0.0.1:{port}/", "/\\127.0.0.1:{port}/"),
    *(
        "http://user:canary@127.0.0.1:{port}/",
        "http://example.org@127.0.0.1:{port}/",
        "https://127.0.0.1:{port}/",
    ),
    *(
        "ht\ttp://127.0.0.1:{port}/",
        "http://127.0.0.1:{port}/#@example.org",
        "http://[::1]:{port}/",
        "http://",
    ),
    *(
        "http://127.0.0.1:{port}",
        "http://:{port}/",
        "http://127.0.0.1:99999/",
        "\x0bhttp://127.0.0.1:{port}/",
    ),
    *("/ta\tb", "/sp ace", "/back\\slash", "?br{ace}", "/\t/127.0.0.1:{port}/"),
]


@pytest.mark.parametrize("location", ELSEWHERE)
async def test_redirects_do_not_lead_inside_or_out_of_http(
    location: str, prize: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_an_outside(monkeypatch)
    told = said(302, headers=[("Location", location.replace("{port}", str(prize.port)))])
    async with served(told, host=OUTSIDE) as server:
        with pytest.raises(PermanentFailure) as caught:
            await outside(server.port, "/", prize.port, redirects=5).execute(make_run())
    assert "canary" not in str(caught.value)
    assert len(server.requests) == 1


async def test_redirects_are_off_unless_said(prize: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with_an_outside(monkeypatch)
    async with served(said(302, headers=[("Location", "/elsewhere")]), host=OUTSIDE) as server:
        with pytest.raises(PermanentFailure, match="a redirect, and the job follows none"):
            await outside(server.port).execute(make_run())
    assert [request.path for request in server.requests] == ["/"]


async def test_redirects_end(monkeypatch: pytest.MonkeyPatch) -> None:
    with_an_outside(monkeypatch)
    async with served(said(302, headers=[("Location", "/round")]), host=OUTSIDE) as server:
        with pytest.raises(PermanentFailure, match="more than 3 redirects"):
            await outside(server.port, redirects=3).execute(make_run())
        assert len(server.requests) == 4
    async with served(said(302), host=OUTSIDE) as server:
        with pytest.raises(PermanentFailure, match="says not where to"):
            await outside(server.port, redirects=3).execute(make_run())


TO_A_GET = (301, 302, 303)
STATED = {
    "Authorization": "Bearer canary-canary",
    "X-Api-Key": "canary-canary",
    "Cookie": "a=canary",
    "X-Any": "1",
}


@pytest.mark.parametrize(
    ("near_by", "far_by"), [*zip(TO_A_GET, TO_A_GET, strict=True), (307, 303), (308, 302)]
)
async def test_nothing_that_vouches_for_us_goes_to_another_origin(
    near_by: int, far_by: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_an_outside(monkeypatch)
    monkeypatch.setenv("SIGNING", "a signing secret")
    async with served(said(200), host=OUTSIDE) as other:
        there = f"http://{OUTSIDE}:{other.port}/there"
        here = [said(near_by, headers=[("Location", "/near")]), said(far_by, headers=[("Location", there)])]
        async with served(*here, host=OUTSIDE) as server:
            call = outside(server.port, "/", other.port, redirects=3, headers=STATED, secret="env:SIGNING")
            await call.execute(make_run({"month": 3}))
    first, near = server.requests
    for request in (first, near):
        assert request.headers["authorization"] == "Bearer canary-canary"
        assert request.headers["idempotency-key"]
        assert request.headers["webhook-signature"]
    (far,) = other.requests
    assert (near.method, near.body) == (("GET", b"") if near_by in TO_A_GET else ("POST", b'{"month":3}'))
    assert (far.method, far.body) == ("GET", b"")
    known = {
        "host",
        "accept",
        "accept-encoding",
        "user-agent",
        "content-type",
        "content-length",
        "connection",
    }
    assert set(far.headers) <= known
    assert b"canary" not in far.raw


async def test_a_redirect_back_home_is_still_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    with_an_outside(monkeypatch)
    async with served(host=OUTSIDE) as home, served(host=OUTSIDE) as other:
        back = f"http://{OUTSIDE}:{home.port}/back"
        away = f"http://{OUTSIDE}:{other.port}/"
        home.answers = [said(307, headers=[("Location", place)]) for place in (away, "/further")] + [
            said(200)
        ]
        other.answers = [said(307, headers=[("Location", back)])]
        call = outside(home.port, "/", other.port, redirects=3, headers=STATED, method="GET")
        await call.execute(make_run())
        assert [request.path for request in home.requests] == ["/", "/back", "/further"]
        assert all(b"canary" not in request.raw for request in home.requests[1:])


@pytest.mark.parametrize("port", [22, 25, 6379, 8080, 65_535])
def test_odd_ports_are_refused_unless_said(port: int) -> None:
    with pytest.raises(InvalidSpec, match=rf"port {port} is not in ports = \[80, 443\]"):
        calling(f"https://example.org:{port}/")
    calling(f"https://example.org:{port}/", ports=[port])


@pytest.mark.parametrize(
    "url", ["http://example.org/", "ftp://example.org/", "file:///etc/passwd", "HTTP://e.test"]
)
def test_other_schemes_are_refused_unless_said(url: str) -> None:
    with pytest.raises(InvalidSpec, match=r"scheme|host or port"):
        calling(url)


@pytest.mark.parametrize(
    "url", ["https://u:canary@example.org/", "https://canary@example.org/", "https://@e.test/"]
)
def test_no_user_in_a_url_and_none_in_the_refusal(url: str) -> None:
    with pytest.raises(InvalidSpec, match="a user or a password") as caught:
        calling(url)
    assert "canary" not in str(caught.value)


BAD_HEADERS = [
    *(
        {"X-A": "a\r\nX-Evil: 1"},
        {"X-A": "a\nb"},
        {"X-A": "a\0"},
        {"X-A": "é"},
        {"X-A": " a"},
        {"X-A": "a\x7f"},
    ),
    *(
        {"X\r\nY": "a"},
        {"X Y": "a"},
        {"": "a"},
        {"X:": "a"},
        {"X-Ä": "a"},
        {"X-A": "1", "x-a": "2"},
        {"X-A": 1},
    ),
    *({"Host": "a"}, {"content-length": "1"}, {"Transfer-Encoding": "chunked"}, {"Connection": "close"}),
    *({"Proxy-Authorization": "a"}, {"TE": "a"}, {"Upgrade": "h2c"}, {"Expect": "100-continue"}),
    *({"Idempotency-Key": "a"}, {"webhook-id": "a"}, {"Fencepost-Fence": "99"}, {"X-A": "a" * 4_097}),
]


@pytest.mark.parametrize("headers", BAD_HEADERS)
def test_headers_that_would_change_the_message_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(InvalidSpec, match="headers: "):
        calling("https://example.org/", headers=headers)


async def test_a_header_from_a_secret_cannot_change_the_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_an_outside(monkeypatch)
    monkeypatch.setenv("TOKEN", "canary-canary\r\nX-Evil: 1")
    async with served(host=OUTSIDE) as server:
        with pytest.raises(
            RetryableFailure, match="secret Authorization: env:TOKEN: cannot be the value"
        ) as caught:
            await outside(server.port, headers={"Authorization": "env:TOKEN"}).execute(make_run())
    assert server.connections == 0
    assert "canary" not in str(caught.value)


async def test_line_breaks_in_a_payload_stay_in_the_body(monkeypatch: pytest.MonkeyPatch) -> None:
    with_an_outside(monkeypatch)
    evil = "\r\n\r\nGET /evil HTTP/1.1\r\nHost: x\r\n\r\n"
    async with served(host=OUTSIDE) as server:
        await outside(server.port, body={"a": "x{a}"}).execute(make_run({"a": evil}))
        await outside(server.port).execute(make_run({evil: evil}))
    for request in server.requests:
        assert request.raw.count(b"\r\n\r\n") == 1
        assert request.raw.endswith(request.body)
    assert len(server.requests) == server.connections == 2


async def test_the_environments_proxies_and_netrc_are_ignored(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with_an_outside(monkeypatch)
    netrc = tmp_path_factory.mktemp("home") / "netrc"
    netrc.write_text(f"machine {OUTSIDE} login canary password canary\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    async with served(said(200), host=OUTSIDE) as server, served(said(200)) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        await outside(server.port).execute(make_run())
        assert proxy.connections == 0
    assert "authorization" not in server.requests[0].headers


async def test_cookies_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    with_an_outside(monkeypatch)
    baked = [("Set-Cookie", "session=canary; Path=/"), ("Location", "/next")]
    async with served(said(307, headers=baked), said(200, headers=baked[:1]), host=OUTSIDE) as server:
        call = outside(server.port, redirects=1)
        await call.execute(make_run())
        await call.execute(make_run())
    assert len(server.requests) == 3
    assert all("cookie" not in request.headers for request in server.requests)


async def test_a_refusal_is_never_retried_into_success(prize: Server) -> None:
    names = Names({"inside.test": [["127.0.0.1"]]})
    call = calling(f"http://inside.test:{prize.port}/", resolve=names, schemes=["http"], ports=[prize.port])
    for _ in range(2):
        with pytest.raises(RunFailure) as caught:
            await call.execute(make_run())
        assert isinstance(caught.value, PermanentFailure)


async def test_the_driver_connects_to_nothing_that_was_not_checked(prize: Server) -> None:
    """Whatever the driver makes of a URL, as it does of addresses that it does not look up."""
    target = parse_target(f"http://127.0.0.1:{prize.port}/")
    hop = Hop(target, addresses=(OUTSIDE,), method="GET", headers={}, body=b"")
    with pytest.raises(RetryableFailure):
        await send(hop, answer_bytes_max=100)
