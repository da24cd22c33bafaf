"""Who may speak to the studio: the token, the hosts and origins, the size of what is sent.

Every request is checked here before anything else is done. Without the token every address answers
401, from another site or under another name of the machine 403, both with nothing in them.
"""

from __future__ import annotations

import secrets
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Bytes of a message, and of an upload.
MOST_BYTES, MOST_UPLOAD = 2_000_000, 50_000_000
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


class Guard:
    """The outermost layer of the server.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    token : str
        What every request must know: as ``token=`` in the address, as a bearer, or as the cookie
        that the first visit set.
    hosts : set of str
        The names (with the port) under which the studio may be spoken to.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: set[str]) -> None:
        self.app, self.token, self.hosts = app, token, {host.lower() for host in hosts}
        self.cookie = "stackcast-" + "-".join(sorted(h.rpartition(":")[2] for h in self.hosts)[:1])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, and let it pass or answer with nothing but a number."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = [(name, value.decode("latin-1")) for name, value in scope["headers"]]
        refused, first_visit = self._refused(scope, headers)
        most = MOST_UPLOAD if scope["path"].startswith("/api/upload/") else MOST_BYTES
        lengths = [value for name, value in headers if name == b"content-length"]
        if not refused and any(not v.isdecimal() or int(v) > most for v in lengths):
            refused = 413
        if refused:
            empty = [(b"content-length", b"0"), (b"connection", b"close")]
            await send({"type": "http.response.start", "status": refused, "headers": empty})
            await send({"type": "http.response.body", "body": b""})
            return
        taken = 0

        async def bounded() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > most:
                raise TooMuchError
            return message

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                found = {name for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *((name, value) for name, value in _HEADERS if name not in found),
                ]
                if b"content-security-policy" not in found:
                    message["headers"].append((b"content-security-policy", _POLICY.encode()))
                if first_visit:
                    cookie = f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"
                    message["headers"].append((b"set-cookie", cookie.encode()))
            await send(message)

        await self.app(scope, bounded, dressed)

    def _refused(self, scope: Scope, headers: list[tuple[bytes, str]]) -> tuple[int, bool]:
        """Return the status of a refusal or 0, and whether to give out the cookie."""

        def all_of(name: bytes) -> list[str]:
            return [value for key, value in headers if key == name]

        hosts = all_of(b"host")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return 403, False
        for origin in all_of(b"origin"):
            if origin.lower() not in {f"http://{host}" for host in self.hosts}:
                return 403, False
        if any(site not in ("same-origin", "none") for site in all_of(b"sec-fetch-site")):
            return 403, False
        query = parse_qs(scope["query_string"].decode("latin-1"))
        by_address = any(map(self._right, query.get("token", [])))
        by_cookie = False
        for header in all_of(b"cookie"):
            try:
                morsel = SimpleCookie(header).get(self.cookie)
            except CookieError:
                continue
            by_cookie = by_cookie or (morsel is not None and self._right(morsel.value))
        by_header = any(
            word.lower().startswith("bearer ") and self._right(word[7:])
            for word in all_of(b"authorization")
        )
        if not (by_address or by_cookie or by_header):
            return 401, False
        return 0, by_address and not by_cookie

    def _right(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self.token.encode())


class TooMuchError(Exception):
    """More was sent than is taken."""
