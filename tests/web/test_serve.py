"""A served page: who leads, who follows, how votes are counted, and what hostile requests come to."""

from __future__ import annotations

import json
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from http.client import HTTPConnection, HTTPResponse
from threading import Thread
from typing import Any

import pytest

import blueprint as bp
from blueprint.web import serve
from blueprint.web.page import page_of
from blueprint.web.serve import Server
from tests.commands import run_command

BEHIND = 0.5
"""Seconds that a follower may be behind, on idle cores; here others may be at work on them."""
BUSY = 4
FOLLOWERS, HOSTILE = 40, 1000
STATE = {"mode": "walk", "step": 3, "typed": [], "asked": "7:0:1 2", "lecture": False}


@pytest.fixture
def server() -> Iterator[Server]:
    """Serves a small page on any port."""
    book = bp.build("by-hand")
    made = Server("127.0.0.1", 0)
    address = f"http://127.0.0.1:{made.port}/"
    made.page = page_of(book.blueprint, book.values, {"addresses": [address]}).text.encode()
    made.start()
    yield made
    made.stop()


def asked(server: Server, way: str, path: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
    """Sends a request, and returns what comes back."""
    to = HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        to.request(way, path, body if isinstance(body, bytes | None) else json.dumps(body), headers)
        found = to.getresponse()
        return found.status, found.read()
    finally:
        to.close()


def leads(server: Server, state: Any, key: str | None = None) -> int:
    """Posts a state with a key, by default the right one."""
    return asked(server, "POST", "/state", state, **{"X-Lead": key or server.lecture.key})[0]


class Follower:
    """A phone that listens: what came, by kind, and when."""

    def __init__(self, server: Server, name: str = ""):
        self.to = HTTPConnection("127.0.0.1", server.port, timeout=30)
        self.to.request("GET", f"/events{name and f'?id={name}'}")
        self.socket = self.to.sock
        self.stream: HTTPResponse = self.to.getresponse()
        self.name, self.states, self.votes = "", list[tuple[float, Any]](), dict[str, Any]()
        Thread(target=self._listen, daemon=True).start()
        waited_for(lambda: self.name)

    def _listen(self) -> None:
        kind = ""
        with suppress(OSError, ValueError, AttributeError):
            for line in self.stream:
                text = line.decode().strip()
                if text.startswith("event: "):
                    kind = text[7:]
                elif text.startswith("data: ") and kind == "you":
                    self.name = text[6:]
                elif text.startswith("data: ") and kind == "state":
                    self.states.append((time.monotonic(), json.loads(text[6:])))
                elif text.startswith("data: "):
                    self.votes = json.loads(text[6:])

    def leave(self) -> None:
        """Vanishes without a word."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)


def waited_for(ready: Any, most: float = 20) -> None:
    """Waits until something is so. Fails where it does not come about."""
    end = time.monotonic() + most
    while not ready():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.005)


def test_followers_are_a_step_behind_and_no_more(server: Server) -> None:
    followers = [Follower(server) for _ in range(FOLLOWERS)]
    late = []
    for step in range(5):
        began = time.monotonic()
        assert leads(server, STATE | {"step": step}) == 204
        waited_for(lambda step=step: all(each.states and each.states[-1][1]["step"] == step for each in followers))
        late.append(max(each.states[-1][0] for each in followers) - began)
    assert sorted(late)[len(late) // 2] <= BEHIND * BUSY, late
    print(f"{FOLLOWERS} followers, five steps: the last one is behind by {[f'{each:.3f} s' for each in late]}")


def test_who_comes_late_sees_where_the_lecture_is(server: Server) -> None:
    leads(server, STATE | {"step": 9})
    late = Follower(server)
    waited_for(lambda: late.states)
    assert late.states[0][1]["step"] == 9


def test_each_follower_has_one_vote_on_what_is_asked(server: Server) -> None:
    some = [Follower(server) for _ in range(3)]
    question = STATE["asked"]

    def vote(who: str, answer: object, on: object = question) -> int:
        return asked(server, "POST", "/votes", {"id": who, "question": on, "answer": answer})[0]

    assert vote(some[0].name, 1) == 409  # nothing is asked yet
    leads(server, STATE)
    assert [vote(each.name, 1) for each in some] == [204] * 3
    assert vote(some[0].name, 2) == 204  # another mind
    waited_for(lambda: some[2].votes.get("counts") == [0, 2, 1, 0])
    for who, answer, on in (
        ("somebody", 1, question),
        (some[0].name, 1, "another question"),
        (some[0].name, 4, question),
        (some[0].name, -1, question),
        (some[0].name, True, question),
        (some[0].name, "1", question),
        (None, 1, question),
    ):
        assert vote(who, answer, on) in (400, 409)  # type: ignore[arg-type]
    some[0].leave()
    again = Follower(server, some[0].name)
    assert again.name == some[0].name
    assert vote(again.name, 3) == 204
    waited_for(lambda: some[2].votes.get("counts") == [0, 2, 0, 1])


def test_only_the_key_leads(server: Server) -> None:
    for key in ("", "x", server.lecture.key[:-1], server.lecture.key + "x", "\u00e9"):
        assert asked(server, "POST", "/state", STATE, **{"X-Lead": key})[0] == 403
    assert server.lecture.state == ""
    page = asked(server, "GET", "/")[1]
    assert server.lecture.key.encode() not in page
    assert b"connect-src 'self'" in page


def test_a_site_elsewhere_that_leads_its_name_here_gets_nothing(server: Server) -> None:
    assert asked(server, "GET", "/", Host="evil.example")[0] == 421
    assert asked(server, "GET", "/", Host=f"localhost:{server.port}")[0] == 200


def hostile(draw: random.Random) -> tuple[str, str, bytes | None, dict[str, str]]:
    """Makes a request that nobody should send."""
    path = draw.choice([
        "/../../etc/passwd", "/..%2f..%2fetc/passwd", "//etc/passwd", "/blueprint/web/serve.py", "/%00", "/.git/config", "/state",
        "/votes", "/events/..", "/" + "a" * draw.randrange(4000), "/?lead=" + "b" * 60, "/;/", "/\\..\\..", "/favicon.ico",
    ])  # fmt: skip
    way = draw.choice(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "PATCH", "BREW"])
    body = draw.choice([
        None, b"", b"{", b"[]", b"null", b"[" * 20_000, b'{"id":' * 5000, b"\xff\xfe\x00", b'{"mode":"walk","typed":[]}',
        b"x" * 70_000, json.dumps({"id": "x", "question": "y" * 5000, "answer": 10**30}).encode(),
    ])  # fmt: skip
    headers = draw.choice([
        {}, {"X-Lead": "guess"}, {"X-Lead": "\u00fc" * 50}, {"Content-Length": "-5"}, {"Content-Length": "99999999999999999999"},
        {"Content-Length": "nan"}, {"Host": "evil.example"}, {"Transfer-Encoding": "chunked"}, {"Cookie": "a" * 30_000},
        {"Content-Length": "\u0665"},
    ])  # fmt: skip
    return way, path, body, headers


def test_hostile_requests_lead_nowhere(server: Server) -> None:
    draw, answered = random.Random(1), 0
    page = asked(server, "GET", "/")[1]
    for _ in range(HOSTILE):
        way, path, body, headers = hostile(draw)
        lines = [f"{way} {path} HTTP/1.1"] + [f"{name}: {value}" for name, value in headers.items()]
        if body is not None and "Content-Length" not in headers:
            lines.append(f"Content-Length: {len(body)}")
        with socket.create_connection(("127.0.0.1", server.port), timeout=5) as raw:
            with suppress(OSError):
                raw.sendall("\r\n".join([*lines, "", ""]).encode("utf-8") + (body or b""))
                raw.shutdown(socket.SHUT_WR)
            with suppress(OSError):
                found = b"".join(iter(partial(raw.recv, 65_536), b""))
                status = re.match(rb"HTTP/1\.\d (\d+)", found)
                held = found.partition(b"\r\n\r\n")[2]
                answered += status is not None
                assert b"root:" not in found
                assert status is None or status[1] != b"200" or held == page or way == "HEAD", (way, path, found[:200])
                assert b"Traceback" not in found
    assert answered > HOSTILE // 2  # the others are cut off
    assert server.lecture.state == ""
    assert server.lecture.votes == {}
    assert asked(server, "GET", "/") == (200, page)


def test_slow_and_vanished_clients_cost_nothing(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "PATIENCE", 0.3)
    monkeypatch.setattr(serve.Answer, "timeout", 0.3)
    slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(60)]
    for each in slow:
        each.sendall(b"GET / HTTP/1.1\r\nHost: ")  # and never more
    gone = [Follower(server) for _ in range(20)]
    for follower in gone:
        follower.leave()
    assert leads(server, STATE) == 204
    waited_for(lambda: not any(server.lecture.followers.values()))
    waited_for(lambda: server._free._value == serve.MOST_CONNECTIONS)
    for each in slow:
        each.close()


def test_there_is_a_bound_on_followers_and_on_connections(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "MOST_FOLLOWERS", 5)
    monkeypatch.setattr(serve, "PATIENCE", 0.3)
    some = [Follower(server) for _ in range(5)]
    assert asked(server, "GET", "/events")[0] == 503
    for each in some:
        each.leave()
    waited_for(lambda: not any(server.lecture.followers.values()))
    lecture, voter = server.lecture, Follower(server)
    for number in range(serve.MOST_QUESTIONS + 100):
        lecture.lead(lecture.key, json.dumps(STATE | {"asked": f"question {number}"}).encode())
        vote = {"id": voter.name, "question": f"question {number}", "answer": 0}
        assert lecture.vote(json.dumps(vote).encode()) == 204
    assert len(lecture.votes) == serve.MOST_QUESTIONS
    assert len(lecture.followers) <= 5


def test_the_command_serves_until_it_is_interrupted() -> None:
    """From its first line to Ctrl-C, in a process of its own, which hears it also where the tests run in the background."""
    run = subprocess.Popen(
        [sys.executable, "-u", "-m", "blueprint", "serve", "by-hand", "--port", "0"], stdout=subprocess.PIPE, text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert run.stdout is not None
    first = run.stdout.readline()
    found = re.fullmatch(r"you lead:  http://127\.0\.0\.1:(\d+)/\?lead=([\w-]{20,})\n", first)
    assert found, first
    to = HTTPConnection("127.0.0.1", int(found[1]), timeout=10)
    to.request("POST", "/state", json.dumps(STATE), {"X-Lead": found[2]})
    assert to.getresponse().status == 204
    run.send_signal(signal.SIGINT)
    assert run.wait(20) == 0  # before the rest is read, so that a server that goes on fails here
    rest = run.stdout.read()
    assert "Only this machine reaches it" in rest
    assert rest.endswith("ended: nothing was kept\n")


def test_a_port_that_is_taken_or_none_is_a_sentence(server: Server) -> None:
    for port, said in {server.port: "Address already in use", 70_000: "ports go from 0 to 65535"}.items():
        refused = run_command("serve", "by-hand", "--port", port)
        assert refused.exit_code == 2
        assert f"cannot serve on 127.0.0.1, port {port}: {said}" in refused.stderr


def until(page: Any, so: str) -> None:
    """Waits until something is so on a page. Playwright's own way would have the page evaluate a text, which its policy forbids."""
    waited_for(lambda: page.evaluate(so))


def test_phones_follow_the_leading_page_and_vote(server: Server, chromium: Any) -> None:
    address = f"http://127.0.0.1:{server.port}/"
    leading, phone = (
        chromium.new_context(viewport=size) for size in ({"width": 1366, "height": 768}, {"width": 390, "height": 844})
    )
    errors: list[str] = []
    lead, other = leading.new_page(), phone.new_page()
    for page in (lead, other):
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda line: errors.append(line.text) if line.type in ("error", "warning") else None)
    lead.goto(f"{address}?lead={server.lecture.key}")
    other.goto(address)
    lead.evaluate("type(byName['gamma.yours'].number, 0, '0.5'); drawSettings()")
    lead.evaluate("choose(byName['advantages'].number, 1, true)")
    until(other, "byName['gamma'].cells[0] === 0.5 && state.cell && blocks[state.cell[0]].name === 'advantages'")
    assert other.evaluate("blocks[data.result].cells[0]") == lead.evaluate("blocks[data.result].cells[0]")
    lead.keyboard.press("w")
    lead.evaluate("""() => goTo(walkLines.findIndex((line) => {
      const { block, offset } = cellOfLine(line);
      return offset >= 0 && canVote(...engine.origin(block.number, offset).map((at, i) => (i ? at : blocks[at])));
    }), 1)""")
    lead.keyboard.press("v")
    other.wait_for_selector(".vote .answer")
    other.click(".vote .answer >> nth=1")
    until(lead, "document.querySelectorAll('.vote output')[1]?.textContent === '1'")
    assert "1 page follows" in lead.inner_text("#follow-tells") or "2 pages follow" in lead.inner_text("#follow-tells")
    other.click("#follow-button")
    lead.keyboard.press("o")
    other.wait_for_timeout(400)
    assert other.evaluate("state.mode") == "walk"
    other.click("#follow-button")
    until(other, "state.mode === 'overview'")
    lead.click("#join-button")
    assert address in lead.inner_text("#join")
    assert errors == []
    leading.close()
    phone.close()
