"""The samples of the documentation, as a program that type-checks in the strictest mode."""

# pyright: strict
from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
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


@dataclass
class Charge:
    id: str


def find_charge() -> Charge:
    return Charge("ch_1")


async def afind_charge() -> Charge:
    return find_charge()


async def charge_again(charge: Charge) -> int:
    return len(charge.id)


@task(queue="payments", context=True)
def refund(ctx: JobContext, order: str) -> dict[str, str]:
    charge = ctx.step("find charge", find_charge)
    answer = ctx.wait_for("approval", timeout=timedelta(days=3), schema=Charge, ask={"text": f"Refund {order}?"})
    ctx.sleep("grace", timedelta(hours=1))
    shelves = ctx.call_all("reserve", [reserve_stock.call(sku) for sku in order])
    parcel = ctx.call("ship", ship_parcel.call(shelf=shelves[0]["shelf"]), timeout=timedelta(days=1))
    assert parcel["parcel"]
    return {"charge": charge.id if answer is None else answer.id, "key": ctx.key("refund")}


@task(queue="payments", context=True)
async def arefund(ctx: JobContext) -> dict[str, int]:
    charge = await ctx.astep("find charge", afind_charge)
    length = await ctx.astep("again", lambda: charge_again(charge), retries=2, retry_delay=1)
    await ctx.asleep("grace", 60)
    length += (await ctx.acall("resize", resize.call(image=1)))["bytes"]
    length += len(await ctx.acall_all("ship", [ship_parcel.call(shelf=1)]))
    answer = await ctx.await_for("approval", timeout=60, schema=Charge)
    return {"length": length + (0 if answer is None else len(answer.id))}


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
    client.signals.send_to_job(refund.enqueue("a-1"), "approval", Charge("ch_2"))
    questions = [wait["ask"] for wait in client.signals.waits(ask=True)]
    assert client.signals.send("paid", "order-7", {"asked": len(questions)})
    return sent["message_id"]


async def aproduce() -> str:
    job = await send_welcome.aenqueue(42)
    return (await job.aresult(timeout=30))["message_id"]


def work() -> None:
    Worker(*(send_welcome, resize, reserve_stock, ship_parcel), queues={"emails": 20, "images": 4, "stock": 4}).run()
