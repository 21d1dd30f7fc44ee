"""The reasons for which the guard refuses, in the order in which it asks: the one table of them.

docs/explain/guard.md prints it, and a test holds the two together.  A reason's name is stable: programs
compare it.  `modes` says when it is asked: `always`; `enrolled` (processing is enforced); or `signed`, also
where enforcement is off and `verify_transitions` is on.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Reason(NamedTuple):
    """One line of the table: a stable name, when it refuses, what helps, and the mode it is asked in."""

    name: str
    when: str
    remedy: str
    mode: str = "enrolled"


REASONS: Final[tuple[Reason, ...]] = (
    Reason(
        "blank_node",
        "a definition, step, run, event or registration is a blank node (removing a registration is allowed)",
        "give the entity an IRI",
    ),
    Reason(
        "literal_not_canonical",
        'a guarded property is not spelled canonically in the request, such as `"00"^^xsd:integer`',
        "write the canonical spelling: 0, 1, 2 … for revisions, plain strings for states, times and keys",
    ),
    Reason(
        "registration_forbidden",
        "the caller has no `identity` permission and the write adds or removes `verifier`, `publicKey`, "
        "`attests`, `agent` or the type `VerifierRegistration`, on any subject in any graph",
        "ask somebody with the identity permission to load the registration",
        "always",
    ),
    Reason(
        "define_forbidden",
        "the caller has no `define` permission and the write brings a new definition, step or run",
        "ask somebody with the define permission to load the plan or to start the run",
    ),
    Reason(
        "registration_incomplete",
        "after the write a registration has not exactly one verifier, has more than one key or agent, no "
        "`attests`, a malformed, non-canonical or small-order key, or bears such facts in a second graph",
        "write it whole, on one subject in one graph; `treadle graph keys register-text` prints it",
    ),
    Reason(
        "event_immutable",
        "any fact of a committed event is added, removed or replaced",
        "leave committed events as they are; say what is new on another subject",
    ),
    Reason(
        "plan_immutable",
        "any type, state or step fact of a committed definition or step changes, or it loses its one label "
        "(a label may be replaced; other annotations are free)",
        "define the changed plan under a new IRI",
    ),
    Reason(
        "run_immutable",
        "the `runOf` or any type of a committed run changes, the run is removed, or a record that an "
        "operator's act left (`urn:x-treadle:acceptedUnsigned`, `…:archived`) is added or removed",
        "start another run; finished runs leave by `treadle graph archive`",
    ),
    Reason(
        "entity_two_roles",
        "a subject bears in one graph the types of more than one of these five entities",
        "give each entity its own IRI",
    ),
    Reason(
        "definition_incomplete",
        "a new definition lacks a type of the pair or a property, or has one twice or of the wrong kind",
        "type it Workflow and WorkflowDefinition, with label, initialState, terminalState and hasStep",
    ),
    Reason(
        "definition_step_unknown",
        "a `hasStep` of a new definition is no complete step in the same graph",
        "write the step in the same graph, in this request or before",
    ),
    Reason(
        "step_incomplete",
        "a new step lacks a type of the pair or a property, has one twice or of the wrong kind, or an IRI "
        "that ends in no usable name",
        "type it Step and WorkflowStep, with one label, fromState and toState; its IRI ends in its name",
    ),
    Reason(
        "definition_step_ambiguous",
        "two declared steps share name and starting state",
        "give them different names",
    ),
    Reason(
        "definition_terminal_exit",
        "a declared step starts at a terminal state",
        "remove the step, or the state from the terminal ones",
    ),
    Reason(
        "definition_unreachable",
        "no declared step starts at the initial state, and it is not terminal",
        "declare a step from the initial state",
    ),
    Reason(
        "definition_dead_end",
        "a state is neither terminal nor left by a declared step",
        "declare a step that leaves it, or make it terminal",
    ),
    Reason(
        "process_fact_untyped",
        "a property that only these entities have is added to a subject that after the write does not bear, "
        "in that graph, the type it belongs to",
        "write the type in the same request and graph, or use a property of your own",
    ),
    Reason(
        "event_unsigned",
        "a new event has no signature",
        "sign the event; `treadle graph advance` does",
        "signed",
    ),
    Reason(
        "event_incomplete",
        "a new event lacks or doubles a field, or has the wrong kind of term in one",
        "write each of the nine fields once; events of version 1 lack two and are not taken here",
        "signed",
    ),
    Reason(
        "event_version",
        "`transitionVersion` of a new event is not the integer 2",
        "sign the version 2 message, which binds the revision",
    ),
    Reason(
        "event_extra_fact",
        "a new event bears a fact besides its type, the nine fields, `rdfs:label` and the predicates that "
        "were listed at enrollment",
        "say it on another subject",
    ),
    Reason(
        "run_incomplete",
        "a touched run has after the write not exactly one `runOf`, one `currentState` and one "
        "`currentRevision` of the right kind, or its definition is not in the same graph",
        "replace state and revision together, and keep run and definition in one graph",
    ),
    Reason(
        "run_not_initial",
        "a new run is not at its definition's initial state with revision 0, arrives with an event, or bears "
        "the IRI of an archived run",
        "start the run at the initial state and revision 0, then advance it",
    ),
    Reason(
        "advance_not_single",
        "one request carries more than one advance of a run",
        "send one request for each advance",
    ),
    Reason(
        "event_without_advance",
        "the run of a new event does not advance in the same request and graph",
        "replace the run's state and revision in the request that writes the event",
    ),
    Reason(
        "advance_revision_mismatch",
        "`fromRevision` is not the committed revision, or the new revision is not exactly one higher",
        "read the run again and sign for the revision it has now",
    ),
    Reason(
        "advance_state_mismatch",
        "the run's old state is not the event's `fromState`, or its new state not the event's `toState`",
        "read the run again and take a step from the state it is in",
    ),
    Reason(
        "field_ambiguous",
        "a signed field is empty or holds `|`, a control character or, in a name, white space",
        "choose IRIs and states without them",
        "signed",
    ),
    Reason(
        "event_step_undeclared",
        "`atStep` is not declared by the run's definition in this graph, or its states are not the event's",
        "take a declared step; `treadle graph status` names the legal ones",
    ),
    Reason(
        "signer_unregistered",
        "no usable registration, committed before, attests this definition for the agent",
        "let somebody with the identity permission load the agent's registration first",
        "signed",
    ),
    Reason(
        "signer_mismatch",
        "the registration names another agent IRI than `performedBy`, or another event of that agent's name "
        "bears another IRI",
        "use the IRI under which the agent is registered and has signed before",
        "signed",
    ),
    Reason(
        "signature_invalid",
        "the signature does not verify under any usable key of the agent",
        "sign exactly what is written, with the registered key",
        "signed",
    ),
    Reason(
        "signature_reused",
        "an event in any graph, committed or in this request, carries this signature already",
        "sign a new advance; the same signed bytes count once",
    ),
    Reason(
        "advance_without_event",
        "a run's state or revision changes with no new event of that run in the same request",
        "write the signed event in the same request",
    ),
)

BY_NAME: Final = {reason.name: reason for reason in REASONS}
ORDER: Final = {reason.name: place for place, reason in enumerate(REASONS)}


def markdown_table() -> str:
    """The table as docs/explain/guard.md shows it."""
    lines = ["| | reason | refused when | what helps | asked |", "|---|---|---|---|---|"]
    for place, reason in enumerate(REASONS, start=1):
        lines.append(f"| {place} | `{reason.name}` | {reason.when} | {reason.remedy} | {reason.mode} |")
    return "\n".join(line.replace("`|`", r"`\|`") for line in lines) + "\n"
