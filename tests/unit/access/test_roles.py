"""Roles: exact names, permissions, tenants; and what a caller without one of them is told."""

from __future__ import annotations

import pytest

from treadle.access import roles
from treadle.access.caller import Caller
from treadle.access.roles import Role, Roles
from treadle.errors import ConfigError, Denied

WORKER = Role("worker", commands=("Claim", "Finish"), queries=("Due",), streams=("Done",), graph=("read",))
ADMIN = Role("admin", operations=("admin",), row_policies=False)
AUDITOR = Role("auditor", operations=("audit",))
CLERK = Role("clerk", commands=("Claim",), tenant=True)
ROLES = Roles([WORKER, ADMIN, AUDITOR, CLERK])

worker, owner = Caller("w", "worker"), Caller("o")


def test_a_role_allows_exactly_what_it_names() -> None:
    ROLES.check_command(worker, "Claim")
    ROLES.check_query(worker, "Due")
    ROLES.check_stream(worker, "Done")
    for check, name in (
        (ROLES.check_command, "claim"),
        (ROLES.check_query, "Claim"),
        (ROLES.check_stream, ""),
    ):
        with pytest.raises(Denied, match="role worker does not allow"):
            check(worker, name)


def test_the_answer_is_the_same_for_a_name_that_exists_and_one_that_does_not() -> None:
    def told(name: str) -> str:
        with pytest.raises(Denied) as error:
            ROLES.check_command(worker, name)
        return str(error.value).replace(name, "NAME")

    assert told("OpenShop") == told("NoSuchCommand")


def test_the_owner_may_everything_and_knows_every_name() -> None:
    ROLES.check_command(owner, "Anything")
    ROLES.check_permission(owner, "admin")
    assert ROLES.allowed(owner, ["A", "B"], "commands") == ["A", "B"]
    assert not ROLES.policed(owner)


def test_a_caller_knows_the_names_that_its_role_has() -> None:
    assert ROLES.allowed(worker, ["Open", "Finish", "Claim"], "commands") == ["Finish", "Claim"]
    assert ROLES.allowed(worker, ["Due", "All"], "queries") == ["Due"]


@pytest.mark.parametrize(
    "role, held", [("admin", {"admin", "audit"}), ("auditor", {"audit"}), ("worker", {"read"})]
)
def test_permissions(role: str, held: set[str]) -> None:
    caller = Caller("x", role)
    for permission in ("read", "update", "define", "identity", "audit", "restore", "admin"):
        assert ROLES.permits(caller, permission) is (permission in held)
        if permission not in held:
            with pytest.raises(Denied, match=f"role {role} has no {permission} permission"):
                ROLES.check_permission(caller, permission)


def test_a_role_of_one_tenant_needs_a_caller_with_one() -> None:
    ROLES.check_command(Caller("c", "clerk", tenant="acme"), "Claim")
    with pytest.raises(Denied, match="one tenant at a time"):
        ROLES.check_command(Caller("c", "clerk"), "Claim")


def test_a_role_that_is_not_there() -> None:
    with pytest.raises(Denied, match="no role wroker; the nearest is worker"):
        ROLES.check_command(Caller("x", "wroker"), "Claim")


def test_without_roles_only_embedded_callers_are_unrestricted() -> None:
    none = Roles()
    none.check_command(Caller("x", "any"), "Claim")
    for check in (none.check_command, none.check_query, none.check_stream):
        with pytest.raises(Denied, match="no role any"):
            check(Caller("x", "any", kind="token", token="00"), "Claim")
    with pytest.raises(Denied):
        none.policed(Caller("x", "any", kind="token", token="00"))


def test_row_policies_apply_to_everyone_but_the_owner_and_exempt_roles() -> None:
    assert ROLES.policed(worker) and ROLES.policed(Caller("o", facts={"region": "north"}))
    assert not ROLES.policed(Caller("x", "admin"))


def test_the_stored_form_is_sorted_and_read_back() -> None:
    assert roles.encode([WORKER, ADMIN]) == roles.encode([ADMIN, WORKER])
    assert list(roles.decode(roles.encode([WORKER, CLERK]))) == [CLERK, WORKER]
    assert len(roles.decode(None)) == 0


@pytest.mark.parametrize(
    "tables, message",
    [
        ([{"name": "a"}, {"commands": ["X"]}], "number 2"),
        ([{"name": "a"}, {"name": "a"}], "a is declared twice"),
        ([{"name": "a", "graph": ["fly"]}], "number 1"),
        ([{"name": "a", "commands": "X"}], "number 1"),
    ],
)
def test_tables_that_are_no_roles(tables: list[dict[str, object]], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        roles.read(tables)
