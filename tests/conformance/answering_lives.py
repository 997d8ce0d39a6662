"""Lives after which everything is asked: two namespaces, long work, and much that happens at one instant."""

from dataclasses import replace
from functools import partial
from random import Random

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from fencepost.core.limits import decide
from fencepost.core.verdict import judge
from fencepost.model.access import NewSession, NewToken, Role
from fencepost.model.claiming import ClaimRequest, Judge
from fencepost.model.freeze import Scope, ScopeKind
from fencepost.model.identifiers import JobName, Namespace
from fencepost.model.job import JobSpec
from fencepost.model.limits import JobLimit
from fencepost.model.run import Ticket
from fencepost.model.schedule import ScheduleSpec
from fencepost.testing.conformance.builders import JOB, MANY, claim_request, start_all
from tests.conformance.operating_lives import ANNA, LABEL, OperatingLives
from tests.conformance.planning_lives import HEAVY, NODES, specs, strides
from tests.conformance.questions import NAMESPACES, QUEUES, Questioner
from tests.conformance.running_lives import claim_requests, judges, outcome_of
from tests.conformance.twins import Twin

MINUTES = 20
MOSTLY_WELL = *("success",) * 10, "output", "retry", "death"
HEAVY_QUEUE = Scope(ScopeKind.QUEUE, HEAVY)
LIMITED_JOB = JobName("thumbnail")
LIMITS = JobLimit(), JobLimit(concurrency=2), JobLimit(concurrency=1, key="key"), JobLimit(rate="6/m")


class AnsweringLives(OperatingLives):
    """Rules that make more of everything, and the questions at the end."""

    seed = 0

    @initialize(spec=specs, steps=strides, seed=st.integers(0, 2**32))
    def begin(self, spec: ScheduleSpec, steps: list[int], seed: int) -> None:
        """The first life that is drawn is the least one, with zeros for dice; nothing is asked of it."""
        self.seed = seed
        for namespace in NAMESPACES[::-1]:
            self.ns = namespace
            super().begin(spec, steps)
            if seed:
                self.work_for_long(seed)

    def nobody_can_tell_them_apart(self) -> None:
        """Nobody looks before the end."""

    @rule(namespace=st.sampled_from(NAMESPACES))
    def go_to(self, namespace: Namespace) -> None:
        self.ns = namespace

    @rule(wanted=claim_requests)
    def claim_direct(self, wanted: ClaimRequest, limit: int = MANY) -> None:
        """All that is due: which of two of one lane and time comes first is left open."""
        wanted = replace(wanted, namespace=self.ns)
        self.take(self.twins.play(lambda one: one.store.ledger.claim_direct(wanted, MANY)))

    @rule(wanted=claim_requests, judge=judges)
    def claim_ticks(self, wanted: ClaimRequest, limit: int = MANY, judge: Judge = judge) -> None:
        wanted = replace(wanted, namespace=self.ns)
        self.take(self.twins.play(lambda one: one.store.ledger.claim_ticks(wanted, MANY, judge, decide)))

    @rule(seed=st.integers(0, 2**32))
    def work_for_long(self, seed: int) -> None:
        """Some minutes of work in which most goes well, and several end at the same instant."""
        dice, begun = Random(seed), list[Ticket]()
        for _ in range(MINUTES):
            self.do_something_else(dice)
            self.plan(dice.choices((5, 10, 25), k=2), 0, "2026a", False)
            self.twins.advance(dice.choice((20, 31, 45)))
            wanted, seen = claim_request(dice.choice(NODES), queues=QUEUES), len(self.tickets)
            self.claim_ticks(wanted, judge=dice.choice((start_all, start_all, judge)))
            self.claim_direct(wanted)
            self.twins.advance(dice.choice((1, 2.5, 7)))
            begun += self.tickets[seen:]
            for _ in range(min(len(begun), dice.randint(1, 6))):
                self.report(outcome_of(dice.choice(MOSTLY_WELL), begun.pop(dice.randrange(len(begun)))))

    def do_something_else(self, dice: Random) -> None:
        """What happens beside the work, much of it at one instant."""
        keys = dice.sample("abcdef", 3)
        match dice.randrange(8):
            case 0:
                self.limit_a_job(dice.choice(LIMITS), keys)
            case 1:
                for key in keys:
                    self.enqueue(key, JOB, dice.randint(1, 4), dice.choice((None, -5, 15)))
            case 2:
                self.let_in(dice.sample(range(1, 9), 3), 600)
            case 3:
                self.come_and_go(dice.choice(NODES), "beat")
            case 4:
                self.plan_after_an_absence([5, 5, 10], True, dice.random() < 0.5)
            case 5:
                self.show_life(4, dice.randrange(6))
            case 6:
                self.call_off(dice.randrange(1_000), dice.choice(("skip", "hold", "hold", "release")))
            case 7:
                self.freeze_and_thaw(
                    dice.choice((LABEL, HEAVY_QUEUE)), dice.choice(("freeze", "thaw", "thaw"))
                )

    @rule(limit=st.sampled_from(LIMITS), keys=st.lists(st.sampled_from("abc"), max_size=3))
    def limit_a_job(self, limit: JobLimit, keys: list[str]) -> None:
        """Some runs of a limited job, one after the other: which of two of one time gets the last slot is
        left open."""
        specs = JobSpec(JOB), JobSpec(LIMITED_JOB, limit=limit, open_payload=True)
        self.twins.play(lambda one: one.store.jobs.register(self.ns, specs))
        for key in keys:
            self.twins.advance(0.5)
            self.enqueue(key, LIMITED_JOB, 2, None)
        wanted = claim_request(queues=QUEUES, jobs=(LIMITED_JOB,), namespace=self.ns)
        self.claim_direct(wanted)
        self.take(self.twins.play(lambda one: one.store.ledger.claim_lined(wanted, MANY, decide)))

    @rule(numbers=st.lists(st.integers(1, 9), max_size=3), lasts_s=st.sampled_from((60, 600)))
    def let_in(self, numbers: list[int], lasts_s: float) -> None:
        for number in numbers:
            token = NewToken(
                f"t{number}", f"digest-{number}", f"token {number}", Role.ADMIN, self.ns, lasts_s
            )
            session = NewSession(
                f"s{number}", f"digest-{number}", "anna", Role.ADMIN, self.ns, token.token_id, lasts_s
            )
            self.twins.play(partial(self.sign_in, token, session))

    async def sign_in(self, token: NewToken, session: NewSession, twin: Twin) -> bool:
        access = twin.store.access
        await access.create_token(token, author=ANNA, asked_in=self.ns)
        opened = await access.open_session(session, by_token=True, author=ANNA, asked_in=self.ns)
        return opened is not None

    def ask(self) -> None:
        """Everything, of both namespaces."""
        dice = Random(self.seed)
        for node in NODES:
            self.come_and_go(node, "beat")
        for namespace in NAMESPACES if self.seed else ():
            self.ns = namespace
            questioner = Questioner(dice, self.twins.now, namespace, self.runs())
            for name, question in questioner.all():
                self.twins.ask(name, question)
