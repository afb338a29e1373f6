"""Serves a small retrieval model; the index is built before the first answer."""

import contextlib
import heapq
import os
import random

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

SIZE, LINKS = int(os.environ.get("INDEX_SIZE", "3600")), 12
points: list[tuple[float, ...]] = []
graph: list[list[int]] = []


def distance(a, b) -> float:
    return sum((x - y) ** 2 for x, y in zip(a, b))


def build() -> None:
    """The exact neighbour graph, once."""
    random.seed(11)
    points.extend(tuple(random.random() for _ in range(16)) for _ in range(SIZE))
    for point in points:
        graph.append(heapq.nsmallest(LINKS, range(SIZE), key=lambda other: distance(point, points[other])))


@contextlib.asynccontextmanager
async def lifespan(app):
    build()
    yield


async def search(request):
    query = (await request.json())["vector"]
    at = 0
    while True:
        best = min(graph[at], key=lambda node: distance(points[node], query))
        if distance(points[best], query) >= distance(points[at], query):
            return JSONResponse({"id": at})
        at = best


async def health(request):
    return JSONResponse({"ready": True, "points": len(points)})


app = Starlette(routes=[Route("/search", search, methods=["POST"]), Route("/health", health)], lifespan=lifespan)
uvicorn.run(app, host="127.0.0.1", port=int(os.environ["EVAL_PORT"]), log_level="warning")
