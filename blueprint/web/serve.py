"""A page for a lecture: one browser leads, phones follow it and vote. Only what is chosen and typed travels, as server-sent events.

The server knows four addresses: the page, its events, and two to which may be posted. It reads no file, keeps nothing, and bounds
how many connections it holds and how much each may send.
"""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore, Condition, Thread, Timer
from typing import Any
from urllib.parse import parse_qs, urlsplit

MOST_FOLLOWERS, MOST_CONNECTIONS = 400, 600
MOST_STATE, MOST_VOTE = 65_536, 1_024
"""Bytes of a post: what is chosen and typed, and one vote."""
MOST_QUESTIONS, MOST_ANSWERS, LONGEST_QUESTION = 200, 4, 200
PATIENCE = 10.0
"""Seconds after which a client that says or takes nothing is let go; a quiet stream gets a sign of life as often."""
SERVED_POLICY = "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


class ServeError(ValueError):
    """Says in a sentence why a page cannot be served."""


@dataclass
class Lecture:
    """What the leading page shows, and the votes on what it asks. All who hold `changed` see one state.

    key: who knows it leads. state: as JSON, "" before somebody leads. votes: by question, by follower, the number of an answer.
    asked: the question that is open, "" for none. version: how often something changed.
    followers: by name, made here so that each has one vote, how many streams it has now; 0 where it has left.
    """

    key: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    state: str = ""
    asked: str = ""
    version: int = 0
    votes: dict[str, dict[str, int]] = field(default_factory=dict)
    followers: dict[str, int] = field(default_factory=dict)
    changed: Condition = field(default_factory=Condition)
    closed: bool = False

    def lead(self, key: str, state: bytes) -> HTTPStatus:
        """Takes a state from whoever knows the key."""
        if not secrets.compare_digest(key.encode(), self.key.encode()):
            return HTTPStatus.FORBIDDEN
        told = _object(state)
        if told is None:
            return HTTPStatus.BAD_REQUEST
        asked = told.get("asked")
        with self.changed:
            self.state = json.dumps(told, separators=(",", ":"))
            self.asked = asked if isinstance(asked, str) and len(asked) <= LONGEST_QUESTION else ""
            self._tell()
        return HTTPStatus.NO_CONTENT

    def vote(self, body: bytes) -> HTTPStatus:
        """Takes the vote of a follower on what is asked now; a second one replaces the first."""
        told = _object(body) or {}
        voter, question, answer = told.get("id"), told.get("question"), told.get("answer")
        if not (isinstance(answer, int) and 0 <= answer < MOST_ANSWERS) or isinstance(answer, bool):
            return HTTPStatus.BAD_REQUEST
        with self.changed:
            if not (isinstance(voter, str) and voter in self.followers) or not self.asked or question != self.asked:
                return HTTPStatus.CONFLICT
            if self.asked not in self.votes and len(self.votes) >= MOST_QUESTIONS:
                del self.votes[next(iter(self.votes))]
            self.votes.setdefault(self.asked, {})[voter] = answer
            self._tell()
        return HTTPStatus.NO_CONTENT

    def join(self, name: str | None) -> str | None:
        """Returns the name of a follower, its own again if it comes back; None if there are too many."""
        with self.changed:
            if sum(self.followers.values()) >= MOST_FOLLOWERS:
                return None
            if name is None or name not in self.followers:
                gone = next((each for each, streams in self.followers.items() if not streams), None)
                if len(self.followers) >= MOST_FOLLOWERS and gone is not None:
                    del self.followers[gone]
                name = secrets.token_urlsafe(9)
            self.followers[name] = self.followers.get(name, 0) + 1
            self._tell()
        return name

    def leave(self, name: str) -> None:
        """Lets a follower go; its name, and its vote, stay."""
        with self.changed:
            self.followers[name] = max(0, self.followers.get(name, 1) - 1)
            self._tell()

    def close(self) -> None:
        """Ends all streams."""
        with self.changed:
            self.closed = True
            self._tell()

    def events(self) -> Iterator[bytes]:
        """Yields what is new, the newest alone where much happened, and a sign of life where nothing does."""
        seen, state, tally = -1, "", ""
        while True:
            with self.changed:
                if self.version == seen and not self.closed:
                    self.changed.wait(PATIENCE)
                if self.closed:
                    return
                seen, now, votes = self.version, self.state, self._tally()
            fresh = [_event("state", now)] if now and now != state else []
            fresh += [_event("votes", votes)] if votes != tally else []
            state, tally = now, votes
            yield b"".join(fresh) or b": here\n\n"

    def _tally(self) -> str:
        own = list(self.votes.get(self.asked, {}).values())
        counts = [own.count(answer) for answer in range(MOST_ANSWERS)]
        following = sum(1 for streams in self.followers.values() if streams)
        return json.dumps({"question": self.asked, "counts": counts, "followers": following})

    def _tell(self) -> None:
        self.version += 1
        self.changed.notify_all()


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None


def _event(name: str, data: str) -> bytes:
    return f"event: {name}\ndata: {data}\n\n".encode()


class Server(ThreadingHTTPServer):
    """Serves one page to many, each connection in a thread of its own, and no more of them than it can hold.

    page: its bytes. hosts: the names by which it is asked for; a site elsewhere that has its own name lead here gets nothing.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str, port: int):
        """Raises ServeError where the address is taken or not to be had."""
        self.page, self.lecture = b"", Lecture()
        self.hosts = {"127.0.0.1", "localhost", host, own_address(), socket.gethostname().lower()}
        self._free = BoundedSemaphore(MOST_CONNECTIONS)
        try:
            super().__init__((host, port), Answer)
        except (OSError, OverflowError) as error:
            reason = error.strerror if isinstance(error, OSError) else "ports go from 0 to 65535"
            raise ServeError(f"cannot serve on {host}, port {port}: {reason}; take another with --port") from error

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answers in a thread, or lets a connection go at once that is one too many."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answers, and makes room again."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing of a client that vanished."""

    def start(self) -> Thread:
        """Answers in the background until `stop`."""
        thread = Thread(target=self.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        thread.start()
        return thread

    def stop(self) -> None:
        """Ends all streams, and listens no more."""
        self.lecture.close()
        self.shutdown()
        self.server_close()


class Answer(BaseHTTPRequestHandler):
    """Answers one connection."""

    timeout = PATIENCE
    protocol_version = "HTTP/1.0"
    server: Server

    def setup(self) -> None:
        """Begins a connection, and ends it after a while unless it has become a stream."""
        super().setup()
        self._end = Timer(2 * PATIENCE, self._cut)
        self._end.daemon = True
        self._end.start()

    def finish(self) -> None:
        """Ends the connection."""
        self._end.cancel()
        super().finish()

    def _cut(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def parse_request(self) -> bool:
        """Takes a request that asks for this server by one of its names."""
        if not super().parse_request():
            return False
        host = self.headers.get("Host", "").rpartition("]")[2].partition(":")[0].lower()
        if host and host not in self.server.hosts:
            self._send(HTTPStatus.MISDIRECTED_REQUEST, b"")
            return False
        return True

    def do_GET(self) -> None:
        """The page, or its events; nothing else is here."""
        asked = urlsplit(self.path)
        if asked.path == "/":
            policy = {"Content-Security-Policy": SERVED_POLICY}
            self._send(HTTPStatus.OK, self.server.page, "text/html; charset=utf-8", policy)
        elif asked.path == "/events":
            self._stream(parse_qs(asked.query).get("id", [None])[0])
        else:
            self._send(HTTPStatus.NOT_FOUND, b"There is one page here: /\n")

    def do_POST(self) -> None:
        """What the leading page shows, or a vote."""
        most = {"/state": MOST_STATE, "/votes": MOST_VOTE}.get(self.path)
        if most is None:
            self._send(HTTPStatus.NOT_FOUND, b"")
            return
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or len(length) > 9 or int(length) > most:
            self._send(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, b"")
            return
        body, lecture = self.rfile.read(int(length)), self.server.lecture
        if self.path == "/state":
            self._send(lecture.lead(self.headers.get("X-Lead", ""), body), b"")
        else:
            self._send(lecture.vote(body), b"")

    def _stream(self, name: str | None) -> None:
        lecture = self.server.lecture
        follower = lecture.join(name)
        if follower is None:
            self._send(HTTPStatus.SERVICE_UNAVAILABLE, b"")
            return
        self._end.cancel()
        try:
            self._head(HTTPStatus.OK, "text/event-stream", {})
            self.wfile.write(_event("you", follower))
            for news in lecture.events():
                self.wfile.write(news)
        except OSError:
            pass  # it vanished, or takes nothing any more
        finally:
            lecture.leave(follower)

    def _send(
        self, status: HTTPStatus, body: bytes, kind: str = "text/plain", more: Mapping[str, str] | None = None
    ) -> None:
        self._head(status, kind, {"Content-Length": str(len(body)), **(more or {})})
        self.wfile.write(body)

    def _head(self, status: HTTPStatus, kind: str, more: Mapping[str, str]) -> None:
        self.send_response(status)
        fixed = {"Content-Type": kind, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
        for name, value in {**fixed, "Referrer-Policy": "no-referrer", **more}.items():
            self.send_header(name, value)
        self.end_headers()

    def version_string(self) -> str:
        """What is said of the server: not which Python it runs."""
        return "blueprint"

    def log_message(self, format: str, *args: Any) -> None:
        """Writes nothing down: no names, no addresses."""


def own_address() -> str:
    """Returns the address of this machine on its network, as others reach it; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()
