"""What an application is made of: its jobs and when they are due."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from fencepost.app import deferred
from fencepost.app.jobs import JobFunction, Registrar, function_of
from fencepost.app.specs import JOB_MARK, name_of, schedule_spec
from fencepost.app.words import Followed, FunctionWords, JobWords, job_spec, own_words
from fencepost.app.work import JobThreads, Workshop
from fencepost.config import Settings
from fencepost.core.payload import check_payload
from fencepost.core.successors import check_known, check_no_cycle
from fencepost.errors import InvalidSpec, UnknownJob
from fencepost.executors.secrets import Secrets
from fencepost.model.identifiers import JobName, ScheduleId, checked_name
from fencepost.model.job import JobSpec, RetryWindow
from fencepost.model.json import JsonObject
from fencepost.model.policies import CatchUp, CatchUpWord, Overlap, OverlapWord
from fencepost.model.schedule import ScheduleSpec
from fencepost.model.secret import SECRET_KINDS
from fencepost.model.stretch import StretchLike
from fencepost.model.trigger import Trigger
from fencepost.ports.executor import Executor, Job

if TYPE_CHECKING:
    from fencepost.app.celery import CeleryWords
    from fencepost.app.commands import CommandWords
    from fencepost.app.http import HttpWords
    from fencepost.app.message import RouteWords
    from fencepost.app.notifying import NotifyWords
    from fencepost.model.intake import Intake
    from fencepost.model.notification import EventWord, Target, TargetWord
    from fencepost.model.schedule import AbsentWord
    from fencepost.triggers import Calendar

JOB_THREAD = "fencepost-job"

# A thread is started only when none is idle, so the worker's concurrency is what bounds them; the surplus
# is for functions that outlived their timeout.
THREADS_MAX = 1_000


class Definitions:
    """The jobs, schedules, calendars and intakes of an application, as its code or its file says them."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self.jobs: dict[JobName, Job] = {}
        self._renamed: dict[JobName, JobName] = {}
        self.code_schedules: dict[ScheduleId, ScheduleSpec] = {}
        self.code_calendars: dict[str, JsonObject] = {}
        self.code_targets: dict[str, Target] = {}
        self.intakes: list[Intake] = []
        self._threads = JobThreads(THREADS_MAX, thread_name_prefix=JOB_THREAD)
        self._workshop = Workshop(self._threads, settings)

    def job(
        self,
        name: str | None = None,
        *,
        schedule: Trigger | None = None,
        overlap: Overlap | OverlapWord = "skip",
        catch_up: CatchUp | CatchUpWord | None = None,
        payload: Mapping[str, Any] | None = None,
        spread: StretchLike | None = None,
        jitter: StretchLike | None = None,
        labels: Mapping[str, str] | None = None,
        absent: AbsentWord = "keep",
        **words: Unpack[FunctionWords],
    ) -> Registrar:
        """Make a function a job, and with `schedule` also a schedule of the same name.

        An attempt that does not call `run.heartbeat` for `progress_deadline` is stuck: stopped, and failed.
        With `executor="process"` the function runs in a child process, which may use `memory_limit` and is
        replaced after `recycle_after` runs. `delivery` says what happens to an attempt of which it is unknown
        how far it came: `at_least_once` is tried again, `at_most_once` never by itself. `concurrency`, of
        each `concurrency_key` of the payload, and `rate`, such as "100/m", are limits across the fleet. Where
        its retries may outgrow the period of a schedule, `retry_window` says "warn", "cap" or "refuse".
        `after` names jobs that it runs after, with what they left in `run.after`; `after_on` says after which
        of their ends: "success", "failure" or "any" (guide: one job after another).
        `renamed_from` says what the job was called before, the first name first: its schedule, its history
        and its keys go on. `absent` says what becomes of the schedule once no running code has it.
        """
        if name is not None and not isinstance(name, str):
            raise InvalidSpec("job: write @app.job() with parentheses")

        def register(given: Callable[..., Any]) -> Any:
            function = function_of(given)
            known_as = name or name_of(function)
            executor = self._workshop.executor(function, **own_words(known_as, FunctionWords, words))
            spec = job_spec(
                known_as, words, parameters=executor.parameters, open_payload=executor.open_payload
            )
            self.add_job(spec, executor)
            setattr(function, JOB_MARK, known_as)
            made = self._job_function(known_as, function)
            if schedule is not None:
                self.add_schedule(
                    known_as,
                    job=known_as,
                    trigger=schedule,
                    payload=payload,
                    overlap=overlap,
                    catch_up=catch_up,
                    spread=spread,
                    jitter=jitter,
                    labels=labels,
                    absent=absent,
                )
            return made

        return register

    def _job_function(self, name: str, function: Callable[..., Any]) -> JobFunction[..., Any, ..., Any]:
        """What takes the function's place in the program."""
        raise NotImplementedError

    def surround_threads(self, around: Callable[[], AbstractContextManager[object]]) -> None:
        """Call each plain function within `around()`, in its thread: a framework may have to tidy there."""
        self._threads.around = around

    def thread_surroundings(self) -> AbstractContextManager[object]:
        """What plain functions are called within at this moment."""
        return self._threads.around()

    def add_job(self, spec: JobSpec, executor: Executor) -> JobName:
        """Register a job of any kind."""
        if spec.name in self.jobs:
            raise InvalidSpec(f"job {spec.name}: defined twice")
        self._check_names(spec)
        if spec.after:
            check_no_cycle(spec.name, self._after() | {spec.name: spec.after})
        self.jobs[spec.name] = Job(spec, executor)
        self._renamed |= dict.fromkeys(spec.renamed_from, spec.name)
        return spec.name

    def _check_names(self, spec: JobSpec) -> None:
        """An old name says which job goes on with its schedule and its keys, so it belongs to one job."""
        for old in spec.renamed_from:
            if old in self._renamed:
                raise InvalidSpec(f"job {spec.name}: renamed_from {old}: so is job {self._renamed[old]}")
        pairs = [(spec.name, old) for old in spec.renamed_from if old in self.jobs]
        pairs += [(self._renamed[spec.name], spec.name)] if spec.name in self._renamed else []
        for new, old in pairs:
            raise InvalidSpec(f"job {new}: renamed_from {old}: job {old} is still defined; leave one out")

    @property
    def jobs_by_every_name(self) -> dict[JobName, Job]:
        """The jobs under the names that they have and those that they had: of what was enqueued or scheduled
        under an old name nothing is lost."""
        before = {
            old: Job(replace(job.spec, name=old, renamed_from=()), job.executor)
            for job in self.jobs.values()
            for old in job.spec.renamed_from
        }
        return before | self.jobs

    def add_command(self, name: str, argv: Sequence[str], **words: Unpack[CommandWords]) -> None:
        """Make an argv a job: no shell reads it (guide: kinds of work, for `limits` and the other words)."""
        self.add_job(*deferred.command_work(name, argv, self.allowed_commands, words, self.secrets))

    @property
    def allowed_commands(self) -> deferred.AllowList:
        """Which programs commands may start."""
        return self._workshop.allowed

    def add_http(self, name: str, url: str, **words: Unpack[HttpWords]) -> None:
        """Make a call of a URL a job (guide: HTTP jobs, for `body`, `secret` and the other words)."""
        self.add_job(*deferred.http_job(name, url, words))

    def celery_task(self, task: str, *, celery: Any, **words: Unpack[CeleryWords]) -> str:
        """Make a Celery task a job, and return its name (guide: Celery, for `track` and the other words)."""
        return self.add_job(*deferred.celery_job(task, celery, words))

    def add_external(
        self, name: str, parameters: Mapping[str, str] | None = None, **words: Unpack[JobWords]
    ) -> None:
        """A job that is done by workers outside of this program, in any language, which claim its runs over
        HTTP. `parameters` are names with JSON types, `{"image_id": "integer", "width": "integer?"}`; without
        them any payload will do."""
        self.add_job(deferred.external_spec(name, parameters, words), deferred.ExternalExecutor())

    def message_job(
        self,
        name: str,
        *,
        destination: str | None = None,
        parameters: Mapping[str, str] | None = None,
        **words: Unpack[RouteWords],
    ) -> Registrar:
        """A job whose runs are sent by a message broker, to its own name unless a `destination` is given.

        With `reply="none"` a run has succeeded when the broker has its message; with `reply="result"` when a
        processor says so. `parameters` are as in `add_external`. With `body="data"` the message is the bytes
        that stand in the payload under this name, in Base64, instead of JSON. What is returned may decorate
        the function that `fencepost processor` calls for it; the parameters are the function's then.
        """
        spec = deferred.message_spec(name, destination, parameters, words)
        self.add_job(spec, deferred.ExternalExecutor())

        def attach(given: Callable[..., Any]) -> Any:
            function = function_of(given)
            executor = self._workshop.executor(function)
            told = deferred.told_by_function(spec, executor.parameters, executor.open_payload)
            self.jobs[spec.name] = Job(told, executor)
            setattr(function, JOB_MARK, name)
            return self._job_function(name, function)

        return attach

    def on_message(
        self,
        source: str,
        *,
        name: str | None = None,
        key: str | None = None,
        group: str | None = None,
        **words: Unpack[FunctionWords],
    ) -> Registrar:
        """Call a function for each message of a source, as a run of a job of its own, exactly once.

        The body is the payload. Messages are told apart by their ids, or by the field of the body that `key`
        names. Where the broker has groups, each `group` gets every message.
        """

        def register(given: Callable[..., Any]) -> Any:
            known_as = name or name_of(function_of(given))
            made = self.job(known_as, **words)(given)
            self.add_intake(source, known_as, key=key, group=group)
            return made

        return register

    def add_intake(self, source: str, job: str, *, key: str | None = None, group: str | None = None) -> None:
        """Make messages of a source runs of a job of this application."""
        known = self._job(job)
        if known.spec.is_done_elsewhere:
            raise InvalidSpec(f"intake {source}: job {job} is done elsewhere; name one that is done here")
        if any(one.job == known.spec.name for one in self.intakes):
            raise InvalidSpec(f"intake {source}: job {job} has an intake already; give each its own job")
        self.intakes.append(deferred.intake(source, known.spec.name, key, group))
        self.jobs[known.spec.name] = Job(known.spec, deferred.MessageFunction(known.executor))

    def add_schedule(
        self,
        schedule_id: str,
        *,
        job: str | Callable[..., Any],
        trigger: Trigger,
        payload: Mapping[str, Any] | None = None,
        overlap: Overlap | OverlapWord = "skip",
        catch_up: CatchUp | CatchUpWord | None = None,
        spread: StretchLike | None = None,
        jitter: StretchLike | None = None,
        queue: str | None = None,
        priority: int | None = None,
        labels: Mapping[str, str] | None = None,
        absent: AbsentWord = "keep",
    ) -> None:
        """A schedule in code: applied to the store when the application starts."""
        checked_name("schedule", schedule_id)
        if schedule_id in self.code_schedules:
            raise InvalidSpec(f"schedule {schedule_id}: defined twice")
        spec = schedule_spec(
            job=job,
            trigger=trigger,
            payload=payload,
            overlap=overlap,
            catch_up=catch_up,
            spread=spread,
            jitter=jitter,
            queue=queue,
            priority=priority,
            labels=labels,
            absent=absent,
        )
        known = self._job(spec.job)
        check_payload(self._told(known.spec), spec.payload)
        known.executor.check(spec.payload)
        if known.spec.retry_window is not RetryWindow.WARN:
            fits = deferred.fitting_job(known.spec, spec, schedule_id)
            self.jobs[known.spec.name] = Job(fits, known.executor)
        self.code_schedules[ScheduleId(schedule_id)] = spec

    def on(
        self,
        *events: EventWord,
        name: str | None = None,
        jobs: Sequence[Followed] = (),
        schedules: Sequence[str] = (),
        **words: Unpack[FunctionWords],
    ) -> Registrar:
        """Call a function when something is wrong, as a run of a job of its own (guide: notifications).

        `events` are "dead", "missed", "gate_closed", "stuck", "unserved", "incomplete" and "recovered"; all
        where none is given. The function takes one argument, the notification: a dictionary. `jobs` and
        `schedules` say of which it is told; a name may end in `*`. What comes within a minute is one call.
        """

        def register(given: Callable[..., Any]) -> Any:
            known_as = name or name_of(function_of(given))
            made = self.job(known_as, **words)(given)
            parameters = self._job(known_as).spec.parameters
            self._add_target(
                deferred.hook(known_as, events, jobs, schedules, [one.name for one in parameters])
            )
            return made

        return register

    def add_notify(self, name: str, kind: TargetWord, **words: Unpack[NotifyWords]) -> None:
        """Tell a webhook, a Slack channel or people by e-mail when something is wrong (guide: notifications,
        for `events`, `url` and the other words)."""
        self._add_target(deferred.notify_target(name, kind, words, self.secrets))

    def _add_target(self, target: Target) -> None:
        if target.name in self.code_targets:
            raise InvalidSpec(f"notify {target.name}: defined twice")
        self.code_targets[target.name] = target

    def add_calendar(self, calendar: Calendar) -> None:
        """A calendar in code: written to the store when the application starts."""
        if calendar.name in self.code_calendars:
            raise InvalidSpec(f"calendar {calendar.name}: defined twice")
        self.code_calendars[calendar.name] = deferred.defined(calendar)

    @property
    def jobs_here(self) -> dict[JobName, Job]:
        """Those that this program has the code of."""
        elsewhere = deferred.ExternalExecutor
        return {name: job for name, job in self.jobs.items() if not isinstance(job.executor, elsewhere)}

    @property
    def secrets(self) -> Secrets:
        """The secrets that payloads and commands may name."""
        return self._workshop.secrets

    def specs(self) -> dict[str, JobSpec]:
        """What the store is told of the jobs; of those that take secrets also which there are, so that a
        server without the code can refuse a payload that names another."""
        self.check_chains()
        return {name: self._told(job.spec) for name, job in self.jobs.items()}

    def check_chains(self) -> None:
        """Refuse a job that follows one that is not defined, when all are."""
        check_known(self._after())

    def _after(self) -> dict[JobName, tuple[JobName, ...]]:
        return {name: job.spec.after for name, job in self.jobs.items()}

    def _told(self, spec: JobSpec) -> JobSpec:
        takes_secrets = any(one.kind in SECRET_KINDS for one in spec.parameters)
        return replace(spec, secrets=self.secrets.names) if takes_secrets else spec

    def secret(self, name: str, source: str) -> None:
        """Let payloads name a secret, as `secret:NAME`, for parameters that are annotated `Secret`.

        `source` is where it is kept, "env:STRIPE_KEY" or "file:/run/secrets/stripe": it is read in the
        worker, right before each call."""
        self.secrets.register(name, source)

    def _job(self, name: str) -> Job:
        found = self.jobs.get(JobName(name))
        if found is None:
            raise UnknownJob(f"job {name}: not defined in this application")
        return found
