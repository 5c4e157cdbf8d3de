"""What must not type-check. Every line that ends with `# refused` is an error for mypy and for pyright."""

# pyright: strict
from __future__ import annotations

import asyncio
from datetime import datetime, timezone
from typing import TypedDict

from millrace import Flow, JobContext, Limit, Millrace, Retries, When, Worker, task, workflow


class Sent(TypedDict):
    message_id: str


@task(queue="emails", retries=Retries(max=5, delay=10))
def send(user_id: int, locale: str = "en") -> Sent:
    return {"message_id": locale}


@task(queue="images", context=True)
async def resize(ctx: JobContext, image: int) -> dict[str, int]:
    return {"image": image}


client = Millrace()

send.enqueue()  # refused
send.enqueue(42, lcoale="de")  # refused
send.enqueue("42")  # refused
send.enqueue(42, "de", "fr")  # refused
send.call(user_id=None)  # refused
resize.enqueue(image="7")  # refused
resize.enqueue(None, 7)  # refused
send.using(delay="10m").enqueue(42)  # refused
send.using(delay=10, run_at=datetime.now(timezone.utc)).enqueue(42)  # refused
send.using(run_at="tomorrow").enqueue(42)  # refused
send.using(prioritY=1).enqueue(42)  # refused
client.enqueue("send")  # refused
client.enqueue(send)  # refused
client.enqueue_many([send])  # refused
client.schedules.put("nightly", "30 3 * * *", resize)  # refused
client.jobs.list(status="done")  # refused
wrong_result: str = send.enqueue(42).result()  # refused
send.enqueue(42).result()["messageId"]  # refused
send.enqueue(42).result(timeout="30s")  # refused
Worker("send", queues={"emails": 1})  # refused
Worker(send, queues={"emails": "20"})  # refused
Worker(send, keeper="fiber")  # refused
Retries(backoff="quadratic")  # refused
task(queue=7)  # refused
send.using(limits=[("user", 1)])  # refused
Limit("user", rate=(1, 60))  # refused
Worker(send, logs="nowhere")  # refused
When(["state"], is_={"a": 1})  # refused
When(["state"], is_="paid", otherwise="stop")  # refused
client.schedules.put("nightly", "@daily", send.call(1), overlap="wait")  # refused
client.jobs.rerun("id", keep_checkpoints=1)  # refused


@task  # refused
def number() -> int:
    return 1


@task(queue="a")  # refused
def listed() -> list[int]:
    return [1]


@task(context=True)  # refused
def without_context(image: int) -> None: ...


@task(queue="a")
def unlike() -> Sent:
    return {"message": "x"}  # refused


@task(context=True)
async def durable(ctx: JobContext, n: int) -> None:
    ctx.step("n", lambda: 1).upper()  # refused
    ctx.step("n", 7)  # refused
    ctx.step("n", lambda: 1, retries="3")  # refused
    await ctx.step("n", lambda: 1)  # refused
    (await ctx.astep("n", lambda: asyncio.sleep(0, 1))).upper()  # refused
    ctx.sleep("n", "1h")  # refused
    ctx.call("n", send)  # refused
    ctx.call("n", send.call(1))["messageId"]  # refused
    await ctx.call("n", send.call(1))  # refused
    ctx.call_all("n", send.call(1))  # refused
    ctx.wait_for("n")  # refused
    ctx.wait_for("n", timeout=1, schema=Sent)["message_id"]  # refused


@workflow
def order(flow: Flow, sku: str) -> None:
    first = flow.step("send", send.call(1))
    flow.step("send", send)  # refused
    flow.step("resize", resize.call(image=first.result))  # refused
    flow.step("later", send.call(2), on_failure="ignore")  # refused
    flow.step("after", send.call(3), after=["send"])  # refused
    first.result + 1  # refused


order.start()  # refused
order.start(sku=1)  # refused
order.start(flow=None, sku="a")  # refused


async def awaited() -> None:
    await send.enqueue(1)  # refused
    (await send.aenqueue(1)).aresult()["message_id"]  # refused
    asyncio.run(send(1))  # refused
