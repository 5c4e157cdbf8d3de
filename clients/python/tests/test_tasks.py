from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import BaseModel

from millrace import Flow, InvalidRequestError, JobContext, Limit, MismatchError, Retries, Unique, task, workflow
from millrace.tasks.policy import Options, instant
from millrace.tasks.task import BaseTask, result_text


@dataclass
class Address:
    street: str
    number: int = 1


@dataclass
class Person:
    name: str
    homes: list[Address]


class Size(BaseModel):
    width: int


def restored(of: BaseTask[..., Any], payload: dict[str, Any]) -> dict[str, Any]:
    return of.arguments.restore(payload)[1]


def test_arguments_enter_the_payload_by_name_and_defaults_do_not() -> None:
    @task(queue="emails")
    def send(user_id: int, locale: str = "en", *, urgent: bool = False) -> None: ...

    assert send.call(42).payload == {"user_id": 42}
    assert send.call(42, "de", urgent=True).payload == {"user_id": 42, "locale": "de", "urgent": True}
    assert (send.name, send.queue) == ("send", "emails")


def test_arguments_that_do_not_fit_are_refused_before_anything_is_sent() -> None:
    @task
    def send(user_id: int) -> None: ...

    wrong: Any = send
    for args, kwargs in [((), {}), ((1, 2), {}), ((), {"userid": 1})]:
        with pytest.raises(TypeError):
            wrong.call(*args, **kwargs)


def test_a_payload_that_does_not_fit_is_a_mismatch() -> None:
    @task
    def send(user_id: int, home: Address | None = None) -> None: ...

    wrong: list[dict[str, Any]] = [{}, {"user_id": 1, "other": 2}, {"user_id": 1, "home": {"road": "x"}}]
    for payload in wrong:
        with pytest.raises(MismatchError):
            send.arguments.restore(payload)


def test_dataclasses_and_models_are_made_of_json() -> None:
    @task
    def move(person: Person, size: Size | None = None, more: dict[str, Address] | None = None) -> Person:
        return person

    given = restored(move, {"person": {"name": "A", "homes": [{"street": "s"}]}, "size": {"width": 3}})
    assert given == {"person": Person("A", [Address("s")]), "size": Size(width=3)}
    assert restored(move, {"person": Person("A", []), "more": {"x": {"street": "t"}}})["more"] == {"x": Address("t")}
    assert move.result_of({"name": "B", "homes": []}) == Person("B", [])
    assert result_text("move", Person("B", [Address("s")])) == '{"name":"B","homes":[{"street":"s","number":1}]}'
    assert result_text("move", Size(width=2)) == '{"width":2}'
    assert result_text("move", None) == "{}"


@pytest.mark.parametrize("returned", [[], 1, "text", {"a": object()}, {"a": float("nan")}])
def test_a_result_that_is_no_object_is_refused(returned: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        result_text("move", returned)


def test_spread_and_positional_arguments() -> None:
    @task
    def collect(first: int, /, second: int = 0, **rest: int) -> None: ...

    assert collect.call(1, third=3).payload == {"first": 1, "third": 3}
    assert collect.arguments.restore({"first": 1, "third": 3}) == ([1], {"third": 3})

    def unnamed(*numbers: int) -> None: ...

    with pytest.raises(TypeError, match="have names"):
        task(unnamed)


def test_a_task_is_called_like_its_function() -> None:
    @task
    def double(number: int) -> dict[str, int]:
        return {"number": 2 * number}

    @task
    async def triple(number: int) -> dict[str, int]:
        return {"number": 3 * number}

    assert double(2) == {"number": 4}
    assert asyncio.run(triple(2)) == {"number": 6}


def test_only_plain_functions_run_in_processes() -> None:
    async def compute() -> None: ...

    with pytest.raises(TypeError, match="plain function"):
        task(process=True)(compute)

    def without_context() -> None: ...

    wrong: Any = task(context=True)
    with pytest.raises(TypeError, match="no parameter for the context"):
        wrong(without_context)


def test_options_of_a_call_win_field_by_field() -> None:
    of_task = Options(queue="a", retries=Retries(max=5, delay=10), timeout=timedelta(minutes=2))
    merged = Options(priority=3, retries=Retries(delay=0.5)).over(of_task)
    assert merged.queue == "a"
    assert merged.config({}) == {"priority": 3, "max_retries": 5, "retry_delay_secs": 1, "timeout_secs": 120}


def test_times_that_mean_nothing_are_refused() -> None:
    @task
    def send() -> None: ...

    wrong: Any = send
    with pytest.raises(TypeError, match="not both"):
        wrong.using(delay=1, run_at=datetime.now(timezone.utc))
    with pytest.raises(ValueError, match="time zone"):
        instant(datetime(2031, 1, 31))
    for duration in ["30s", -1, float("inf"), True]:
        with pytest.raises((TypeError, ValueError)):
            Options(timeout=duration).config({})  # type: ignore[arg-type]  # what a caller without a type checker gives


def test_a_workflow_is_a_list_of_steps_with_references() -> None:
    @task(queue="stock")
    def reserve(sku: str) -> dict[str, int]:
        return {"shelf": 7}

    @task
    def ship(shelf: int, notes: list[str]) -> None: ...

    @workflow
    def order(flow: Flow, sku: str) -> None:
        reserved = flow.step("reserve", reserve.call(sku))
        advert = flow.step("advert", reserve.using(priority=2).call("ad"), on_failure="continue")
        flow.step("ship", ship.call(shelf=reserved["shelf"], notes=[reserved["a"]["b"], "x"]), after=[advert])

    first, second, third = order.steps(sku="a-1")
    assert (first.get("payload"), first.get("queue"), first.get("depends_on")) == ({"sku": "a-1"}, "stock", [])
    assert (second.get("on_failure"), second.get("config")) == ("continue", {"priority": 2})
    assert third.get("payload") == {
        "shelf": {"$step": "reserve", "path": ["shelf"]},
        "notes": [{"$step": "reserve", "path": ["a", "b"]}, "x"],
    }
    assert third.get("depends_on") == ["reserve", "advert"]


def test_what_cannot_be_a_workflow_is_refused() -> None:
    @task
    def note(text: Any) -> dict[str, str]:
        return {"text": str(text)}

    def steps(build: Any) -> Any:
        return workflow(name="w")(build).steps()

    def twice(flow: Flow) -> None:
        flow.step("a", note.call(1))
        flow.step("a", note.call(2))

    def computed(flow: Flow) -> None:
        flow.step("b", note.call(f"{flow.step('a', note.call(1))['text']}!"))

    def like_a_reference(flow: Flow) -> None:
        flow.step("a", note.call({"$step": "b"}))

    def delayed(flow: Flow) -> None:
        flow.step("a", note.using(delay=1).call(1))

    def empty(flow: Flow) -> None: ...

    other = Flow("other").step("elsewhere", note.call(1))

    def foreign(flow: Flow) -> None:
        flow.step("a", note.call(other["text"]))

    for build in (twice, computed, like_a_reference, delayed, empty, foreign):
        with pytest.raises(Exception, match=r"step|workflow"):
            steps(build)


def test_a_context_comes_first() -> None:
    @task(context=True)
    def resize(ctx: JobContext, image: int) -> dict[str, int]:
        return {"image": image}

    assert resize.call(7).payload == {"image": 7}
    fake: Any = object()
    assert resize(fake, 7) == {"image": 7}


def test_jobs_may_expire_and_be_unique() -> None:
    @task(expires=600, unique=Unique("site-{site_id}"))
    def rebuild(site_id: int) -> None:
        """Does nothing."""

    def config(call: Any) -> Any:
        return call.merged.config(call.payload)

    assert config(rebuild.call(7)) == {"expires_secs": 600, "unique": {"key": "site-7", "while": "waiting"}}
    debounce = Unique("all", on_conflict="replace", max_wait=timedelta(minutes=1))
    until = datetime(2031, 1, 31, 9, tzinfo=timezone.utc)
    assert config(rebuild.using(unique=debounce, expires=until).call(7)) == {
        "expires_at": "2031-01-31T09:00:00Z",
        "unique": {"key": "all", "while": "waiting", "on_conflict": "replace", "max_wait_secs": 60},
    }
    with pytest.raises(ValueError, match="time zone"):
        config(rebuild.using(expires=datetime(2031, 1, 31, 9)).call(7))


def test_the_keys_of_limits_are_made_of_arguments() -> None:
    @task(limits=[Limit("user-{user_id}", running=2)])
    def export(user_id: int, kind: str = "csv") -> dict[str, int]:
        return {"user_id": user_id}

    def limits(call: Any) -> Any:
        return call.merged.config(call.payload).get("limits")

    assert limits(export.call(7)) == [{"key": "user-7", "running": 2}]
    own = [Limit(lambda sent: f"kind-{sent['kind']}", running=1), Limit("all", running=9)]
    assert limits(export.using(limits=own).call(7, "pdf")) == [
        {"key": "kind-pdf", "running": 1},
        {"key": "all", "running": 9},
    ]
    with pytest.raises(InvalidRequestError, match="not sent"):
        limits(export.using(limits=[Limit("{kind}", 1)]).call(7))

    @workflow(name="w")
    def exports(flow: Flow) -> None:
        first = flow.step("first", export.call(1))
        flow.step("second", export.call(first["user_id"]))

    with pytest.raises(InvalidRequestError, match="not sent"):
        exports.steps()
