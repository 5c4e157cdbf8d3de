"""The samples of the documentation, as a program that type-checks in the strictest mode."""

# pyright: strict
from __future__ import annotations

from typing import TypedDict

from millrace import Flow, JobContext, Millrace, Retries, Worker, task, workflow


class Sent(TypedDict):
    message_id: str


class Shelf(TypedDict):
    shelf: int


@task(queue="emails", retries=Retries(max=5, delay=10))
def send_welcome(user_id: int, locale: str = "en") -> Sent:
    return {"message_id": f"{user_id}-{locale}"}


@task(queue="images", context=True)
async def resize(ctx: JobContext, image: int) -> dict[str, int]:
    ctx.progress(done=1)
    ctx.check()
    return {"bytes": image}


@task(queue="stock")
def reserve_stock(sku: str) -> Shelf:
    return {"shelf": len(sku)}


@task(queue="stock")
def ship_parcel(shelf: int) -> dict[str, str]:
    return {"parcel": f"p-{shelf}"}


@workflow
def order(flow: Flow, sku: str) -> None:
    reserve = flow.step("reserve", reserve_stock.call(sku))
    flow.step("ship", ship_parcel.call(shelf=reserve["shelf"]))


def produce(client: Millrace, users: list[int]) -> str:
    sent = send_welcome.enqueue(42, locale="de").result(timeout=30)
    send_welcome.using(delay=600, key="welcome-42").enqueue(42)
    client.enqueue_many([send_welcome.call(n) for n in users])
    client.schedules.put("nightly", "30 3 * * *", resize.call(image=0))
    order.start(sku="a-1").results()
    return sent["message_id"]


async def aproduce() -> str:
    job = await send_welcome.aenqueue(42)
    return (await job.aresult(timeout=30))["message_id"]


def work() -> None:
    Worker(*(send_welcome, resize, reserve_stock, ship_parcel), queues={"emails": 20, "images": 4, "stock": 4}).run()
