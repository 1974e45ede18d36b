"""Boards and witnesses without a socket, and what stands between a client and a real one."""

from __future__ import annotations

from collections.abc import Callable

from bulletin_board.client.http import HttpTransport, NetworkError, Response

Files = dict[str, bytes]
Played = Callable[[str, str, bytes], Response]
"""The answer to a method, a path and a body."""


class Plays(HttpTransport):
    """A server at http://x that a function plays, with the paths that it was asked for."""

    def __init__(self, answer: Played) -> None:
        super().__init__()
        self.answer = answer
        self.asked: list[str] = []

    def request(
        self, method: str, url: str, *, body: bytes | None, media_type: str, limit: int
    ) -> Response:
        del media_type, limit
        self.asked.append(url.removeprefix("http://x/"))
        return self.answer(method, self.asked[-1], body or b"")


class Shows(Plays):
    """A board that shows files, withholds some paths, and answers posts with a receipt."""

    def __init__(self, files: Files, hidden: str = "\0", receipt: bytes = b"") -> None:
        super().__init__(self.shown)
        self.files, self.hidden, self.receipt = files, hidden, receipt
        self.status, self.posts = 404, 0

    def shown(self, method: str, path: str, _: bytes) -> Response:
        if method == "POST":
            self.posts += 1
            return Response(201, {}, self.receipt)
        if path.startswith(self.hidden):
            return Response(self.status, {}, b"")
        data = self.files.get(path)
        return Response(404, {}, b"") if data is None else Response(200, {}, data)


class Between(HttpTransport):
    """Passes requests on; a function of path and answer says what comes back."""

    def __init__(self, change: Callable[[str, Response], Response]) -> None:
        super().__init__()
        self.change = change
        self.asked: list[str] = []

    def request(
        self, method: str, url: str, *, body: bytes | None, media_type: str, limit: int
    ) -> Response:
        self.asked.append(url.split("/", 3)[3])
        answer = super().request(method, url, body=body, media_type=media_type, limit=limit)
        answer = self.change(self.asked[-1], answer)
        if len(answer.body) > limit:
            raise NetworkError("too much")
        return answer


def as_it_is(_: str, answer: Response) -> Response:
    return answer
