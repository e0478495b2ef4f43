"""Checks of every request before its route: the words of its query, and the keys and values of its JSON.

A word or key that stands twice has two meanings. Numbers that are not finite and lone surrogates cannot be stored, sent
to the ranks or answered: JSON has no such number, and UTF-8 no such character.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel

from dgraph.errors import shown, unknown
from dgraph.service.front.problem_documents import Problem

SUSPECT = re.compile(r"NaN|Infinity|[eE]\+?0*[1-9]\d\d|\d{200}|\\u[dD][89a-fA-F]")
"""Texts without a match have neither; those with one are looked through value by value."""

DEEPEST = 100
"""Deepest nesting of a body that is looked through."""


def loads(body: bytes | bytearray) -> Any:
    """Return the value of a JSON text.

    Raises:
        Problem: 422 with the place of a number that is not finite, of half a surrogate pair, or of a byte
            that is not text; or with a key that an object has twice.
        ValueError: the body is not JSON.
    """
    try:
        text = bytes(body).decode(json.detect_encoding(body))
    except UnicodeDecodeError as wrong:
        raise Problem(422, f"body: byte {wrong.start} is not valid {wrong.encoding}; send UTF-8") from None
    value = json.loads(text, object_pairs_hook=_object)
    if SUSPECT.search(text):
        _check(value, "body", DEEPEST)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of pairs of keys and values."""
    value = dict(pairs)
    if len(value) < len(pairs):
        key = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise Problem(422, f"body: an object has the key {shown(key)} more than once; leave all but one out")
    return value


def _check(value: Any, place: str, depth: int) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise Problem(422, f"{place}: got {value}, but numbers are finite; give one, or leave it out")
    if isinstance(value, str) and not value.isascii():
        _check_text(value, place)
    if isinstance(value, (dict, list)) and not depth:
        raise Problem(422, f"{place}: got a value nested deeper than {DEEPEST}; give a flatter one")
    if isinstance(value, dict):
        for key, element in value.items():
            _check_text(key, place)
            _check(element, f"{place}.{key[:64]}", depth - 1)
    elif isinstance(value, list):
        for number, element in enumerate(value):
            _check(element, f"{place}.{number}", depth - 1)


def _check_text(text: str, place: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        detail = f"{place}: got {text[:64]!a}, which has half a surrogate pair; send valid Unicode"
        raise Problem(422, detail) from None


class _JsonRequest(Request):
    async def json(self) -> Any:
        """Return the value of the body; FastAPI calls it for every body of JSON."""
        if not hasattr(self, "_json"):
            self._json = loads(await self.body())
        return self._json


class JsonRoute(APIRoute):
    """Route whose body is read by :func:`loads`, and that refuses queries with words of other routes."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of requests."""
        handler = super().get_route_handler()
        words = [word for field in self.dependant.query_params for word in _words(field)]

        async def handled(request: Request) -> Response:
            for word, times in Counter(word for word, _ in request.query_params.multi_items()).items():
                where = f"the query of {request.method} {self.path}"
                if word not in words:
                    raise Problem(400, str(unknown(f"word in {where}", word, words)), "UsageError")
                if times > 1:
                    raise Problem(400, f"{where} has {word!r} {times} times; leave all but one out", "UsageError")
            return await handler(_JsonRequest(request.scope, request.receive))

        return handled


def _words(field: Any) -> list[str]:
    """Return the words of a query that a parameter of a route reads: its own, or the fields of its model."""
    model = field.field_info.annotation
    return list(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else [field.alias]
