"""What each word of a query means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from treadle.lsp.words import TYPES

QUERY_WORDS: Final[Mapping[str, str]] = {
    **TYPES,
    "query": "A read with typed parameters and declared outcomes. It goes along declared indexes alone.",
    "one": "One row, by its key or a unique; without it the query ends with the outcome after `else`.",
    "maybe": "One row, by its key or a unique, or null.",
    "many": "The rows of a range of one index, or of the key.",
    "from": "The entity whose rows are read.",
    "where": "Conditions that all hold. Those with `==` lead to the index.",
    "group": "Rows in groups, by fields: they show those fields, and aggregates.",
    "order": "The order of rows: that of an index, which ends in the key.",
    "by": "The fields, in order.",
    "asc": "Rising: what is meant without a word.",
    "desc": "Falling; all of an order or none of it.",
    "take": "At most so many rows; with `after` the answer has pages.",
    "after": "The cursor: `next` of the page before.",
    "else": "The outcome where the row is absent.",
    "return": "What is answered when every `one` has its row.",
    "reveals": "Lets a secret field be shown here.",
    "outcomes": "Every outcome of the query.",
    "when": "Asks the conditions only if the parameter is given, or true.",
    "in": "One of some values; a list parameter has at most 1,024.",
    "prefix": "A text that begins so, on a field with a `text_key`.",
    "is": "`is null` and `is not null`: whether an optional field is absent.",
    "not": "`is not null`: whether an optional field is present.",
    "count": "How many rows.",
    "sum": "The sum of a number; 0 of nothing.",
    "min": "The least value; null of nothing.",
    "max": "The greatest value; null of nothing.",
    "any": "Whether the conditions hold for a row.",
    "all": "Whether the conditions hold for every row.",
    "true": "The value true.",
    "false": "The value false.",
    "null": "No value, for an optional field.",
    "revision": "The row's revision: what a command expects as the revision that the caller saw.",
}
"""Every word of the language of queries."""

QUERY_FORMS: Final[Mapping[str, str]] = {
    "query": (
        "query ${1:Name}(\\$${2:shop}: ${3:Entity.field}) {\n\tmany ${4:row} from ${5:Entity}\n"
        "\t\twhere ${4:row}.${6:field} == \\$${2:shop}\n\t\ttake ${7:100} after \\$next\n"
        "\treturn Found { ${8:rows}: ${4:row} { $0 } }\n\toutcomes Found\n}"
    ),
    "one": "one ${1:row} from ${2:Entity} where ${1:row}.${3:key} == \\$${4:parameter} else ${5:Missing}",
    "maybe": "maybe ${1:row} from ${2:Entity} where ${1:row}.${3:key} == \\$${4:parameter}",
    "many": (
        "many ${1:row} from ${2:Entity}\n\twhere ${1:row}.${3:field} == \\$${4:parameter}\n\ttake ${5:100}"
    ),
    "take": "take ${1:100}",
    "order": "order by ",
    "group": "group by ",
    "return": "return ${1:Found} { ${2:rows}: ${3:row} { $0 } }",
    "count": "count(${1:row})",
    "sum": "sum(${1:row}.${2:field})",
    "min": "min(${1:row}.${2:field})",
    "max": "max(${1:row}.${2:field})",
    "any": "any(${1:condition})",
    "all": "all(${1:condition})",
    "when": "when \\$${1:parameter} { ${2:condition} }",
}
"""What words of a query are written with: forms to fill in."""
