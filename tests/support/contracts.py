"""A contract for tests of plan and engine, as checked values by hand: a lease and all its operations.

`SOURCE` says the same as text; a test compares what the compiler makes of it with these values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from treadle.model import contract as c
from treadle.model import types as t

ITEM: Final = t.Record("WorkItem")
STATE: Final = t.Enum("WorkState")
KEY_INPUTS: Final = (
    c.Field("request_key", t.String(128)),
    c.Field("organization_id", t.UUID),
    c.Field("work_id", t.UUID),
)
REVISION: Final = c.Field("expected_revision", t.U64_)
OWNER: Final = c.Field("owner_id", t.UUID)
DURATION: Final = c.Field("duration", t.U64_)
TOKEN: Final = c.Field("token", t.U64_)
KEY: Final = (c.Input("organization_id", t.UUID), c.Input("work_id", t.UUID))

_HEAD = """
    input request_key: string<128>
    input organization_id: uuid
    input work_id: uuid
"""
_MUTATE = """
    idempotency_key request_key
    mutate WorkItem(organization_id, work_id) as work else Missing {}
"""
_FENCE = """
    lease fence execution on work owner owner_id fencing_token token revision expected_revision
      stale Stale {} invalid Invalid {} expired Expired {}
"""


def _step(name: str) -> str:
    return f"""
  command {name}Work {{{_HEAD} input owner_id: uuid input token: u64 input expected_revision: u64
    {_MUTATE} {_FENCE}
    transition {name} on work revision expected_revision stale Stale {{}} illegal Illegal {{}}
    return Done {{ work: work }}
  }}"""


SOURCE: Final = f"""
contract WorkQueue version 1 {{
  enum WorkState {{ Queued, Running, Complete }}
  entity WorkItem {{
    key (organization_id: uuid, work_id: uuid)
    field state: WorkState
    field lease_owner: optional<uuid>
    field lease_expires_at: optional<timestamp>
    field lease_fence: u64
    field lease_attempts: u64
  }}
  aggregate Work {{ root WorkItem partition_by organization_id conflict_key (organization_id, work_id) }}
  workflow WorkLifecycle {{
    entity WorkItem
    state state
    initial Queued
    transition Start from (Queued) to Running
    transition Finish from (Running) to Complete
    transition Rotate from (Running) to Running
    lease execution {{
      owner lease_owner
      expires_at lease_expires_at
      fencing_token lease_fence
      attempts lease_attempts
      duration_seconds (5, 900)
    }}
  }}
  command CreateWork {{{_HEAD}
    idempotency_key request_key
    create WorkItem(organization_id, work_id) as work else Exists {{}}
    set work.lease_fence = 0
    set work.lease_attempts = 0
    return Created {{ work: work }}
  }}
  command ClaimWork {{{_HEAD} input owner_id: uuid input duration: u64 input expected_revision: u64 {_MUTATE}
    lease claim execution on work owner owner_id duration_seconds duration revision expected_revision
      stale Stale {{}} unavailable Unavailable {{}} invalid Invalid {{}} exhausted Exhausted {{}}
    return Done {{ work: work }}
  }}
  command RenewWork {{{_HEAD}
    input owner_id: uuid input token: u64 input duration: u64 input expected_revision: u64 {_MUTATE}
    lease renew execution on work owner owner_id fencing_token token duration_seconds duration
      revision expected_revision
      stale Stale {{}} invalid Invalid {{}} expired Expired {{}} exhausted Exhausted {{}}
    return Done {{ work: work }}
  }}
  command ReleaseWork {{{_HEAD} input owner_id: uuid input token: u64 input expected_revision: u64 {_MUTATE}
    lease release execution on work owner owner_id fencing_token token revision expected_revision
      stale Stale {{}} invalid Invalid {{}}
    return Done {{ work: work }}
  }}
  command ExpireWork {{{_HEAD} input expected_revision: u64 {_MUTATE}
    lease expire execution on work revision expected_revision stale Stale {{}} active Active {{}}
    return Done {{ work: work }}
  }}
  command FenceWork {{{_HEAD} input owner_id: uuid input token: u64 input expected_revision: u64
    {_MUTATE} {_FENCE}
    return Done {{ work: work }}
  }}
{_step("Start")}{_step("Finish")}{_step("Rotate")}
}}
"""

Op = Literal["claim", "renew", "release", "expire", "fence"]


def work_item() -> c.Entity:
    return c.Entity(
        name="WorkItem",
        key=(c.Field("organization_id", t.UUID), c.Field("work_id", t.UUID)),
        fields=(
            c.Field("state", STATE),
            c.Field("lease_owner", t.Optional(t.UUID)),
            c.Field("lease_expires_at", t.Optional(t.TIMESTAMP)),
            c.Field("lease_fence", t.U64_),
            c.Field("lease_attempts", t.U64_),
        ),
    )


def lifecycle() -> c.Workflow:
    return c.Workflow(
        name="WorkLifecycle",
        entity="WorkItem",
        state="state",
        initial="Queued",
        transitions=(
            c.Transition("Start", ("Queued",), "Running"),
            c.Transition("Finish", ("Running",), "Complete"),
            c.Transition("Rotate", ("Running",), "Running"),
        ),
        lease=c.Lease(
            "execution",
            "lease_owner",
            "lease_expires_at",
            "lease_fence",
            "lease_attempts",
            minimum=5,
            maximum=900,
        ),
    )


def failing(*names: str) -> tuple[c.OutcomeDecl, ...]:
    return tuple(c.OutcomeDecl(name, (), success=False) for name in names)


def mutation(
    name: str, inputs: Sequence[c.Field], effects: Sequence[c.Effect], outcomes: Sequence[str]
) -> c.Command:
    """A command that mutates one WorkItem as `work` and answers `Done { work: work }`."""
    return c.Command(
        name=name,
        bulk=False,
        inputs=(*KEY_INPUTS, *inputs),
        services=(),
        idempotency_key="request_key",
        bindings=(c.Binding("mutate", "WorkItem", KEY, "work", failure=c.Outcome("Missing")),),
        decisions=(),
        loop=None,
        requires=(),
        effects=tuple(effects),
        success=c.Outcome("Done", (c.Assign("work", c.BindingRow("work", ITEM)),)),
        outcomes=(
            *failing("Missing", *outcomes),
            c.OutcomeDecl("Done", (c.Field("work", ITEM),), success=True),
        ),
        partition=KEY[0],
    )


def lease(op: Op) -> c.LeaseEffect:
    """A lease operation on `work` whose outcomes are named as the clauses, capitalised."""
    names = {
        "claim": ("unavailable", "invalid", "exhausted"),
        "renew": ("invalid", "expired", "exhausted"),
        "release": ("invalid",),
        "expire": ("active",),
        "fence": ("invalid", "expired"),
    }[op]
    answers = {name: c.Outcome(name.capitalize()) for name in names}
    return c.LeaseEffect(
        op=op,
        workflow="WorkLifecycle",
        lease="execution",
        binding="work",
        revision="expected_revision",
        stale=c.Outcome("Stale"),
        owner=None if op == "expire" else "owner_id",
        fencing_token="token" if op in ("renew", "release", "fence") else None,
        duration="duration" if op in ("claim", "renew") else None,
        **answers,
    )


def transition(name: str) -> c.TransitionEffect:
    stale, illegal = c.Outcome("Stale"), c.Outcome("Illegal")
    return c.TransitionEffect("WorkLifecycle", name, "work", "expected_revision", stale, illegal)


def create_work() -> c.Command:
    zero = c.Literal(0, t.U64_)
    return c.Command(
        name="CreateWork",
        bulk=False,
        inputs=KEY_INPUTS,
        services=(),
        idempotency_key="request_key",
        bindings=(c.Binding("create", "WorkItem", KEY, "work", failure=c.Outcome("Exists")),),
        decisions=(),
        loop=None,
        requires=(),
        effects=(c.Set("work", "lease_fence", zero), c.Set("work", "lease_attempts", zero)),
        success=c.Outcome("Created", (c.Assign("work", c.BindingRow("work", ITEM)),)),
        outcomes=(*failing("Exists"), c.OutcomeDecl("Created", (c.Field("work", ITEM),), success=True)),
        partition=KEY[0],
    )


def work_contract() -> c.Contract:
    """The contract of this module's docstring."""
    commands = (
        create_work(),
        mutation(
            "ClaimWork",
            (OWNER, DURATION, REVISION),
            [lease("claim")],
            ["Stale", "Unavailable", "Invalid", "Exhausted"],
        ),
        mutation(
            "RenewWork",
            (OWNER, TOKEN, DURATION, REVISION),
            [lease("renew")],
            ["Stale", "Invalid", "Expired", "Exhausted"],
        ),
        mutation("ReleaseWork", (OWNER, TOKEN, REVISION), [lease("release")], ["Stale", "Invalid"]),
        mutation("ExpireWork", (REVISION,), [lease("expire")], ["Stale", "Active"]),
        mutation("FenceWork", (OWNER, TOKEN, REVISION), [lease("fence")], ["Stale", "Invalid", "Expired"]),
        *(
            mutation(
                f"{name}Work",
                (OWNER, TOKEN, REVISION),
                [lease("fence"), transition(name)],
                ["Stale", "Invalid", "Expired", "Illegal"],
            )
            for name in ("Start", "Finish", "Rotate")
        ),
    )
    return c.Contract(
        name="WorkQueue",
        version=1,
        identity="00" * 32,
        enums=(c.EnumDecl("WorkState", ("Queued", "Running", "Complete")),),
        entities=(work_item(),),
        aggregates=(
            c.Aggregate(
                "Work", "WorkItem", (), _own("organization_id"), (_own("organization_id"), _own("work_id"))
            ),
        ),
        workflows=(lifecycle(),),
        commands=commands,
    )


def _own(field: str) -> c.OwnField:
    return c.OwnField("WorkItem", field, t.UUID)
