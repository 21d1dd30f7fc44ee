"""What the words of the language are written with: forms to fill in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_CLAIM: Final = (
    "lease claim ${1:lease} on ${2:row} owner ${3:owner_id} duration_seconds ${4:seconds}"
    " revision ${5:expected_revision}\n"
    "\tstale ${6:Stale} {} unavailable ${7:Taken} {} invalid ${8:BadDuration} {} exhausted ${9:Exhausted} {}"
)

DECLARATIONS: Final[Mapping[str, str]] = {
    "enum": "enum ${1:Name} { ${2:First}, ${3:Second} }",
    "entity": "entity ${1:Name} {\n\tkey (${2:id}: ${3:uuid})\n\tfield ${4:name}: ${5:string<80>}\n}",
    "event": "event ${1:Name} {\n\tpartition_by (${2:id})\n\t${2:id}: ${3:uuid}\n}",
    "aggregate": ("aggregate ${1:Names} { root ${2:Name} partition_by ${3:id} conflict_key (${3:id}) }"),
    "workflow": (
        "workflow ${1:NameLife} {\n\tentity ${2:Name}\n\tstate ${3:state}\n\tinitial ${4:First}\n"
        "\ttransition ${5:Step} from (${4:First}) to ${6:Second}\n}"
    ),
    "command": (
        "command ${1:Name} {\n\tinput ${2:key}: string<128>\n\t$3\n\tidempotency_key ${2:key}\n\t$4\n"
        "\treturn ${5:Done} {}\n}"
    ),
    "bulk": (
        "bulk command ${1:Name} {\n\tinput ${2:key}: string<128>\n\tinput ${3:ids}: list<uuid, 1..64>\n"
        "\tidempotency_key ${2:key}\n\tfor ${4:id} in ${3:ids} {\n\t\t$5\n\t}\n\treturn ${6:Done} {}\n}"
    ),
    "reimport": (
        "reimport command ${1:Restore} {\n\tinput ${2:records}: list<${3:Entity}, 1..64>\n"
        "\treconstitute ${3:Entity} from ${2:records} else ${4:Exists} {}\n\treturn ${5:Restored} {}\n}"
    ),
    "principal": "principal fact ${1:name}: ${2:list<uuid, 0..64>}",
    "row": "row policy ${1:Name} on ${2:Entity} {\n\tallow ${3:read} when ${4:true}\n}",
}

ENTITY: Final[Mapping[str, str]] = {
    "key": "key (${1:id}: ${2:uuid})",
    "field": "field ${1:name}: ${2:string<80>}",
    "invariant": "invariant ${1:Name}: ${2:condition}",
    "index": "index ${1:by_field} (${2:fields})",
    "unique": "unique ${1:name} (${2:fields})",
    "reference": "reference ${1:name} (${2:fields}) -> ${3:Entity} (${4:key})",
    "delete_policy": "delete_policy ${1|no_inbound,restrict,cascade|}",
}

AGGREGATE: Final[Mapping[str, str]] = {
    "conflict_key": "conflict_key (${1:fields})",
    "invariant": "invariant ${1:Name}: ${2:condition}",
}

WORKFLOW: Final[Mapping[str, str]] = {
    "transition": "transition ${1:Step} from (${2:First}) to ${3:Second}",
    "lease": (
        "lease ${1:name} {\n\towner ${2:owner}\n\texpires_at ${3:expires_at}\n\tfencing_token ${4:fence}\n"
        "\tduration_seconds (${5:5}, ${6:900})\n}"
    ),
    "duration_seconds": "duration_seconds (${1:5}, ${2:900})",
}

COMMAND: Final[Mapping[str, str]] = {
    "input": "input ${1:name}: ${2:uuid}",
    "service": "service ${1:name}: ${2|transaction_time,uuid_v7|}",
    "read": "read ${1:Entity}(${2:key}) as ${3:row} else ${4:Missing} {}",
    "mutate": "mutate ${1:Entity}(${2:key}) as ${3:row} else ${4:Missing} {}",
    "create": "create ${1:Entity}(${2:key}) as ${3:row} else ${4:Exists} {}",
    "delete": "delete ${1:Entity}(${2:key}) as ${3:row} else ${4:Missing} {}",
    "init_or_mutate": (
        "init_or_mutate ${1:Entity}(${2:key}) as ${3:row} initialize { ${4:field}: ${5:value} }"
    ),
    "observe_or_initialize": (
        "observe_or_initialize ${1:Entity}(${2:key}) as ${3:row} initialize { ${4:field}: ${5:value} }\n"
        "decide ${3:row} {\n\twhen ${6:condition} => no_effect\n\telse => apply {\n\t\t$7\n\t}\n}"
    ),
    "decide": "decide ${1:row} {\n\twhen ${2:condition} => apply {\n\t\t$3\n\t}\n\telse => no_effect\n}",
    "for": "for ${1:id} in ${2:ids} {\n\t$3\n}",
    "require": "require ${1:Name}: ${2:condition} else ${3:Outcome} {}",
    "set": "set ${1:row}.${2:field} = ${3:value}",
    "emit": "emit ${1:Event} { ${2:field}: ${3:value} }",
    "transition": (
        "transition ${1:Step} on ${2:row} revision ${3:expected_revision}"
        " stale ${4:Stale} {} illegal ${5:Illegal} {}"
    ),
    "lease": _CLAIM,
    "return": "return ${1:Outcome} {}",
}

LEASE_OPERATIONS: Final[Mapping[str, str]] = {
    "claim": _CLAIM.removeprefix("lease "),
    "renew": (
        "renew ${1:lease} on ${2:row} owner ${3:owner_id} fencing_token ${4:token}"
        " duration_seconds ${5:seconds} revision ${6:expected_revision}\n"
        "\tstale ${7:Stale} {} invalid ${8:NotHolder} {} expired ${9:Lapsed} {} exhausted ${10:Exhausted} {}"
    ),
    "release": (
        "release ${1:lease} on ${2:row} owner ${3:owner_id} fencing_token ${4:token}"
        " revision ${5:expected_revision}\n\tstale ${6:Stale} {} invalid ${7:NotHolder} {}"
    ),
    "expire": (
        "expire ${1:lease} on ${2:row} revision ${3:expected_revision}"
        " stale ${4:Stale} {} active ${5:StillHeld} {}"
    ),
    "fence": (
        "fence ${1:lease} on ${2:row} owner ${3:owner_id} fencing_token ${4:token}"
        " revision ${5:expected_revision}\n"
        "\tstale ${6:Stale} {} invalid ${7:NotHolder} {} expired ${8:Lapsed} {}"
    ),
}

TYPES: Final[Mapping[str, str]] = {
    "decimal": "decimal<${1:10}, ${2:2}>",
    "money": "money<${1:EUR}>",
    "string": "string<${1:80}>",
    "bytes": "bytes<${1:80}>",
    "optional": "optional<${1:uuid}>",
    "list": "list<${1:uuid}, ${2:1}..${3:64}>",
}
