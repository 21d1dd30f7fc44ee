"""The guard itself: one pure function over the state before a request, its change and its context."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import Final, TypeAlias

from treadle.errors import check
from treadle.graph.agents import Before
from treadle.graph.delta import Delta
from treadle.graph.guard import definitions, events, registrations, runs, signers, steps, subjects, unenrolled
from treadle.graph.guard.context import Advance, Context, Entry, Refusal, Verdict
from treadle.graph.guard.reasons import BY_NAME, REASONS
from treadle.graph.guard.scene import Scene
from treadle.graph.guard.signers import Signed
from treadle.graph.signatures import successor
from treadle.graph.vocabulary import Kind

Rule: TypeAlias = Callable[[Scene], Iterator[Refusal]]
"""Every violation of one reason, in any order, fields of one entity in the table's order."""

_RULES: Final[Mapping[str, Rule]] = {
    rule.__name__: rule
    for rule in (
        subjects.blank_node,
        subjects.literal_not_canonical,
        registrations.registration_forbidden,
        definitions.define_forbidden,
        registrations.registration_incomplete,
        events.event_immutable,
        definitions.plan_immutable,
        runs.run_immutable,
        subjects.entity_two_roles,
        definitions.definition_incomplete,
        definitions.definition_step_unknown,
        steps.step_incomplete,
        definitions.definition_step_ambiguous,
        definitions.definition_terminal_exit,
        definitions.definition_unreachable,
        definitions.definition_dead_end,
        subjects.process_fact_untyped,
        events.event_unsigned,
        events.event_incomplete,
        events.event_version,
        events.event_extra_fact,
        runs.run_incomplete,
        runs.run_not_initial,
        runs.advance_not_single,
        events.event_without_advance,
        runs.advance_revision_mismatch,
        runs.advance_state_mismatch,
        events.field_ambiguous,
        events.event_step_undeclared,
        signers.signer_unregistered,
        signers.signer_mismatch,
        signers.signature_invalid,
        signers.signature_reused,
        runs.advance_without_event,
    )
}
_ALWAYS: Final[Mapping[str, Rule]] = {
    name: rule for name, rule in _RULES.items() if BY_NAME[name].mode == "always"
}
_SIGNED: Final[Mapping[str, Rule]] = {
    **_ALWAYS,
    **{
        rule.__name__: rule
        for rule in (
            unenrolled.event_unsigned,
            unenrolled.event_incomplete,
            unenrolled.field_ambiguous,
            unenrolled.signer_unregistered,
            unenrolled.signer_mismatch,
            unenrolled.signature_invalid,
        )
    },
}
_MODES: Final = {"enrolled": _RULES, "signed": _SIGNED, "always": _ALWAYS}
_PLANS: Final = frozenset((Kind.DEFINITION, Kind.STEP))
_OF_EVENTS: Final = (
    "event_immutable event_unsigned event_incomplete event_version event_extra_fact advance_not_single "
    "event_without_advance advance_revision_mismatch advance_state_mismatch field_ambiguous "
    "event_step_undeclared signer_unregistered signer_mismatch signature_invalid signature_reused"
)
_OF_DEFINITIONS: Final = (
    "definition_incomplete definition_step_unknown definition_step_ambiguous definition_terminal_exit "
    "definition_unreachable definition_dead_end"
)
_ABOUT: Final[Mapping[str, frozenset[Kind]]] = {
    "blank_node": frozenset(Kind),
    "entity_two_roles": frozenset(Kind),
    "define_forbidden": _PLANS | {Kind.RUN},
    "plan_immutable": _PLANS,
    **dict.fromkeys(_OF_DEFINITIONS.split(), frozenset((Kind.DEFINITION,))),
    "step_incomplete": frozenset((Kind.STEP,)),
    **dict.fromkeys(_OF_EVENTS.split(), frozenset((Kind.EVENT,))),
    **dict.fromkeys(("run_incomplete", "run_not_initial", "advance_without_event"), frozenset((Kind.RUN,))),
}
"""What a rule looks at: it finds nothing where no such entity is touched. The others look at statements."""

check(list(_RULES) == [reason.name for reason in REASONS], "one rule for each reason, in the table's order")
check(all(BY_NAME[name].mode != "enrolled" for name in _SIGNED), "the table says what is asked unenrolled")


def judge(before: Before, delta: Delta, context: Context) -> Verdict | Refusal:
    """Accept a request or say the first reason, in the table's order, why not.

    Pure: the same arguments give the same answer.  The cost follows the delta and the entities it touches,
    never the size of the dataset.  Call it on every request, also where processing is not enforced: the
    identity permission is asked for always.

    Args:
        before: the committed statements, without the request.
        delta: the request's net change of all graphs, with the spellings that it was written in.
        context: who asks, and under which rules.

    Returns:
        A `Verdict` that names what was recognised, or the `Refusal`; ties for one reason are decided by
        graph and subject in code-point order.
    """
    scene = Scene(before, delta, context)
    for rule in _asked(_mode(context), scene.kinds):
        refusals = rule(scene)
        first = next(refusals, None)
        if first is not None:
            return min(chain((first,), refusals), key=lambda found: found.place)
    return _verdict(scene) if context.enrolled else Verdict(registrations=_registrations(scene))


@lru_cache(maxsize=128)
def _asked(mode: str, kinds: frozenset[Kind]) -> tuple[Rule, ...]:
    """The rules of a mode that can find something where entities of these kinds are touched, in order."""
    rules = _MODES[mode].items()
    return tuple(rule for name, rule in rules if name not in _ABOUT or not kinds.isdisjoint(_ABOUT[name]))


def _mode(context: Context) -> str:
    if context.enrolled:
        return "enrolled"
    return "signed" if context.verify_transitions else "always"


def _verdict(scene: Scene) -> Verdict:
    return Verdict(
        advances=tuple(_advances(scene)),
        started=tuple(Entry(touched.graph, touched.subject) for touched in scene.new(Kind.RUN)),
        defined=tuple(Entry(touched.graph, touched.subject) for touched in scene.new(Kind.DEFINITION)),
        registrations=_registrations(scene),
    )


def _registrations(scene: Scene) -> tuple[Entry, ...]:
    return tuple(registrations.touched(scene))


def _advances(scene: Scene) -> Iterator[Advance]:
    for move in scene.advances:
        event = move.event
        by = signers.verifying(scene, Signed(move.graph, event, (move.definition,)))
        check(by is not None and event.from_revision is not None, "an accepted event is signed and numbered")
        if by is not None and event.from_revision is not None:
            yield Advance(
                graph=move.graph,
                run=move.run,
                definition=move.definition,
                event=event.iri,
                step=event.step,
                from_state=event.from_state,
                to_state=event.to_state,
                revision=successor(event.from_revision),
                performer=event.performer,
                registration=by.subject,
            )
