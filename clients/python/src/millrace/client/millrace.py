"""The client."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from ..http.connections import Line
from ..http.transport import Exchange, Hooks, Transport
from ..shared.durations import Duration, seconds
from ..shared.off_loop import off_loop
from ..tasks.call import Call
from ..tasks.handles import JobHandle, set_default_sender, set_sender_factory
from ..wire.types import WhoAmI, WorkflowStepInput
from ..workflows.workflow import WorkflowHandle
from .dead_letters import DeadLetters
from .enqueue import enqueue, enqueue_many
from .jobs import Jobs
from .operations import Operations
from .queues import Queues
from .schedules import Schedules
from .session import Session
from .settings import sendable_token, server_url
from .signals import Signals
from .wait import DEFAULT_WAIT
from .wait_all import wait_all
from .workflows import Workflows, start_workflow

R = TypeVar("R")


class Millrace:
    """A client of the service, for one tenant. Safe to share between threads; needs no closing.

    >>> client = Millrace()  # MILLRACE_URL and MILLRACE_TOKEN, or a local server with --dev
    >>> job = client.enqueue(send_welcome.call(42))  # doctest: +SKIP
    >>> job.result(timeout=30)  # doctest: +SKIP
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: Duration = 10,
        attempts: int = 5,
        logger: logging.Logger | None = None,
        hooks: Hooks | None = None,
        exchange: Exchange | None = None,
    ) -> None:
        """`timeout` is how long one try of a call may take, `attempts` how often a call is tried."""
        self.url = server_url(url)
        self._token = sendable_token(token, "MILLRACE_TOKEN")
        transport = Transport(
            self.url,
            self._token,
            timeout=seconds(timeout),
            attempts=attempts,
            logger=logger or logging.getLogger("millrace.client"),
            hooks=hooks,
            exchange=exchange,
        )
        self._session = Session(transport, hooks or Hooks())
        self.jobs = Jobs(self._session)
        self.workflows = Workflows(self._session)
        self.schedules = Schedules(self._session)
        self.dead_letters = DeadLetters(self._session)
        self.operations = Operations(self._session)
        self.queues = Queues(self._session)
        self.signals = Signals(self._session)

    def enqueue(self, call: Call[R]) -> JobHandle[R]:
        """Creates a job. Once it has returned, the job is stored and will run."""
        return enqueue(self._session, call)

    async def aenqueue(self, call: Call[R]) -> JobHandle[R]:
        """The same, for asyncio."""
        line = Line()
        return await off_loop(lambda: enqueue(self._session, call, line), line.cut)

    def enqueue_many(self, calls: Sequence[Call[R]], *, key: str | None = None) -> Sequence[JobHandle[R]]:
        """Creates up to a thousand jobs, all of them or none. The handles have the order of the calls.

        >>> client.enqueue_many([send_welcome.call(n) for n in users])  # doctest: +SKIP
        """
        return enqueue_many(self._session, calls, key)

    async def aenqueue_many(self, calls: Sequence[Call[R]], *, key: str | None = None) -> Sequence[JobHandle[R]]:
        """The same, for asyncio."""
        line = Line()
        return await off_loop(lambda: enqueue_many(self._session, calls, key, line), line.cut)

    def wait_all(self, handles: Sequence[JobHandle[R]], timeout: Duration = DEFAULT_WAIT) -> Sequence[R]:
        """Waits for many jobs with few calls; the results have the order of the handles.

        Raises JobFailedError or JobCancelledError if one of them did not complete.
        """
        return wait_all(self._session, handles, timeout)

    async def await_all(self, handles: Sequence[JobHandle[R]], timeout: Duration = DEFAULT_WAIT) -> Sequence[R]:
        """The same, for asyncio."""
        line = Line()
        return await off_loop(lambda: wait_all(self._session, handles, timeout, line), line.cut)

    def whoami(self) -> WhoAmI:
        """Who this client's token is to the server, and what the server can do."""
        answer: WhoAmI = self._session.read("/whoami")
        return answer

    def close(self) -> None:
        """Closes idle connections. Not needed; the client can be used again."""
        self._session.transport.close()

    def __repr__(self) -> str:
        return f"<millrace at {self.url}>"

    # What tasks and workflows call, so that `.enqueue()` and `.start()` need no client.

    def send(self, call: Call[R]) -> JobHandle[R]:
        return self.enqueue(call)

    async def asend(self, call: Call[R]) -> JobHandle[R]:
        return await self.aenqueue(call)

    def start_steps(
        self, name: str, steps: list[WorkflowStepInput], key: str | None, metadata: Mapping[str, Any] | None
    ) -> WorkflowHandle:
        return start_workflow(self._session, name, steps, key, metadata)

    async def astart_steps(
        self, name: str, steps: list[WorkflowStepInput], key: str | None, metadata: Mapping[str, Any] | None
    ) -> WorkflowHandle:
        return await off_loop(lambda: start_workflow(self._session, name, steps, key, metadata))

    # How a process of its own makes a client like this one.

    def __reduce__(self) -> tuple[type[Millrace], tuple[str, str]]:
        return (Millrace, (self.url, self._token))


def use_client(client: Millrace | None) -> None:
    """Makes this the client of `.enqueue()` and `.start()`. None: one from the environment, made when it is needed."""
    set_default_sender(client)


set_sender_factory(Millrace)
