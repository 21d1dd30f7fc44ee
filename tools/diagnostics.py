"""The page of each diagnostic: what it means, a contract that it refuses, and the same contract put right.

`EXAMPLES` holds for each code a right contract (one of a few) and the changes that make it wrong. A test
compiles both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from treadle.riff import compile_contract, format_contract
from treadle.riff.codes import CODES

FOLDER: Final = "docs/reference/diagnostics"

SHELF: Final = """
contract Library version 1 {
  enum Condition { Fine, Worn }
  entity Shelf {
    key (branch_id: uuid, shelf_id: uuid)
    field label: string<40>
    field books: u64
    field condition: Condition
  }
  event ShelfAdded {
    partition_by (branch_id)
    branch_id: uuid
    shelf_id: uuid
  }
  aggregate Shelves { root Shelf partition_by branch_id conflict_key (branch_id, shelf_id) }
  command AddShelf {
    input request: string<128>
    input branch_id: uuid
    input shelf_id: uuid
    input label: string<40>
    idempotency_key request
    create Shelf(branch_id, shelf_id) as shelf else ShelfExists { shelf_id: shelf_id }
    set shelf.label = label
    set shelf.books = 0
    set shelf.condition = Condition.Fine
    emit ShelfAdded { branch_id: branch_id, shelf_id: shelf_id }
    return Added { shelf: shelf }
  }
}
"""

JOB: Final = """
contract Shop version 1 {
  enum JobState { Waiting, Printing, Done }
  entity Job {
    key (shop_id: uuid, job_id: uuid)
    field state: JobState
    field printer: optional<uuid>
    field printer_until: optional<timestamp>
    field fence: u64
  }
  aggregate Jobs { root Job partition_by shop_id conflict_key (shop_id, job_id) }
  workflow JobLife {
    entity Job
    state state
    initial Waiting
    transition Start from (Waiting) to Printing
    transition Finish from (Printing) to Done
    lease printing {
      owner printer
      expires_at printer_until
      fencing_token fence
      duration_seconds (5, 900)
    }
  }
  command Start {
    input request: uuid
    input shop_id: uuid
    input job_id: uuid
    input printer_id: uuid
    input token: u64
    input expected: u64
    idempotency_key request
    mutate Job(shop_id, job_id) as job else JobMissing {}
    lease fence printing on job owner printer_id fencing_token token revision expected
      stale Stale {} invalid NotHolder {} expired Lapsed {}
    transition Start on job revision expected stale Stale {} illegal NotWaiting {}
    return Started {}
  }
}
"""

MEMBER: Final = """
contract Club version 1 {
  entity Club {
    key (club_id: uuid)
    field name: string<80>
    delete_policy cascade { relationship Member.of_club using Member.by_club maximum 100 }
  }
  entity Member {
    key (club_id: uuid, member_id: uuid)
    field email: string<80>
    field secret pin: string<8>
    field nick: optional<string<20>>
    unique email_once (club_id, email)
    index by_club (club_id, member_id)
    reference of_club (club_id) -> Club (club_id)
  }
  aggregate Clubs { root Club partition_by club_id conflict_key (club_id) }
  aggregate Members { root Member partition_by club_id conflict_key (club_id, member_id) }
  command Join {
    input request: uuid
    input club_id: uuid
    input email: string<80>
    input pin: string<8>
    service member_id: uuid_v7
    idempotency_key request
    read Club(club_id) as club else NoClub {}
    create Member(club_id, member_id) as member else MemberExists {} conflict email_once EmailTaken {}
    set member.email = email
    set member.pin = pin
    return Joined { member_id: member_id, email: member.email }
  }
  command Close {
    input request: uuid
    input club_id: uuid
    idempotency_key request
    delete Club(club_id) as club else NoClub {} cascade TooManyMembers {}
    return Closed {}
  }
}
"""

NOTE: Final = """
contract Notes version 1 {
  entity Note {
    key (team_id: uuid, note_id: uuid)
    field author: uuid
    field size: u64
  }
  entity Reader {
    key (team_id: uuid, user_id: uuid)
    index by_user (team_id, user_id)
  }
  aggregate Notes { root Note partition_by team_id conflict_key (team_id, note_id) }
  aggregate Readers { root Reader partition_by team_id conflict_key (team_id, user_id) }
  principal fact user: uuid
  principal fact teams: list<uuid, 64>
  row policy Own on Note {
    allow read when principal.user == author || exists Reader.by_user(team_id, principal.user)
    allow update when principal.user == author && team_id in principal.teams
  }
}
"""

BULK: Final = """
contract Counter version 1 {
  entity Count {
    key (team_id: uuid, day: date)
    field n: u64
  }
  aggregate Counts { root Count partition_by team_id conflict_key (team_id, day) }
  bulk command AddDays {
    input request: uuid
    input team_id: uuid
    input days: list<date, 1..366>
    idempotency_key request
    for day in days {
      create Count(team_id, day) as count else CountExists { day: day }
      set count.n = 0
    }
    return AddedAll {}
  }
  command CountUp {
    input request: uuid
    input team_id: uuid
    input day: date
    idempotency_key request
    mutate Count(team_id, day) as count else NoCount {}
    decide count {
      when count.n >= 100 => reject Full {}
      else => apply { set count.n = count.n + 1 }
    }
    return Counted { n: count.n }
  }
}
"""


@dataclass(frozen=True)
class Example:
    """A right contract and the changes (old, new) that make it wrong; what to do, in a paragraph."""

    right: str
    changes: tuple[tuple[str, str], ...]
    advice: str

    @property
    def wrong(self) -> str:
        text = self.right
        for old, new in self.changes:
            if old not in text:
                raise ValueError(f"the example has no {old!r}")
            text = text.replace(old, new, 1)
        return text


def _example(right: str, old: str, new: str, advice: str) -> Example:
    return Example(right, ((old, new),), advice)


FENCE: Final = """    lease fence printing on job owner printer_id fencing_token token revision expected
      stale Stale {} invalid NotHolder {} expired Lapsed {}
"""

EXAMPLES: Final[dict[str, Example]] = {
    "S003": _example(
        SHELF,
        "string<40>",
        "string<40bytes>",
        "A name begins with an ASCII letter or `_` and has at most 256 bytes. A number is digits, `12`, or a"
        " decimal, `12.50`. A string is written as in JSON, on one line; it holds no NUL and no lone"
        " surrogate.",
    ),
    "S004": _example(
        SHELF,
        " else ShelfExists { shelf_id: shelf_id }",
        "",
        "The message names what can stand there. A command's clauses have one order: inputs, service values,"
        " the idempotency key, bindings, decisions, the loop, requirements, effects, `return`.",
    ),
    "S005": _example(
        SHELF,
        "    return Added { shelf: shelf }\n  }\n}",
        "    return Added { shelf: shelf }\n  }",
        "A bracket is still open; the note shows the innermost one.",
    ),
    "S006": _example(
        SHELF,
        "set shelf.books = 0",
        "set shelf.books = " + "(" * 31 + "0" + ")" * 31,
        "Braces, parentheses, nested types and prefix operators count; `a + b + c` does not nest. Split the"
        " expression, or leave parentheses out.",
    ),
    "S008": _example(
        SHELF,
        "field books: u64",
        "field books: u64 default 0",
        "The word belongs to a language like this one, or the comment is not `//`. Remove it and what belongs"
        " to it. As a name, where a name is asked for, the word is free.",
    ),
    "C001": _example(SHELF, "version 1", "version 0", "Count versions from 1; a successor has a higher one."),
    "C002": _example(
        SHELF,
        "field books: u64",
        "field books: u64\n    field books: u64",
        "Enums and entities share a namespace; events, aggregates, workflows, commands, principal facts"
        " and row"
        " policies each have their own. Within a command, inputs, service values, bindings and the loop's"
        " element share one. `tx` always means the transaction.",
    ),
    "C003": _example(
        SHELF,
        " conflict_key (branch_id, shelf_id) }",
        " }",
        "An entity has one `key`; an aggregate one `root`, one `partition_by` and one `conflict_key`; a bulk"
        " command has a `for`.",
    ),
    "C004": _example(
        SHELF,
        "shelf_id: shelf_id }\n    return",
        "shelf_id: shelve_id }\n    return",
        "The message names the nearest name that is known. In a binding's failure, in `conflict` and in"
        " `violates` only inputs, loop elements and constants are known: no row was read yet.",
    ),
    "C005": _example(
        SHELF,
        "field label: string<40>",
        "field label: string<0>",
        "Strings and bytes have 1 to 1,048,576 bytes, decimals 1 to 38 digits, lists 1 to 65,535 entries. An"
        " optional does not nest. A list of an entity's records is an input of bulk and reimport commands"
        " only.",
    ),
    "C006": _example(
        SHELF,
        "input label: string<40>",
        "input label: string<41>",
        "Types match exactly, bounds too; only a plain value may stand for an optional one. A constant takes"
        " the type that is asked for.",
    ),
    "C007": _example(
        BULK,
        "bulk command AddDays",
        "command AddDays",
        "`for` stands in bulk commands; `in`, `is null` and `exists` in row policies; `conflict` and"
        " `violates`"
        " on create and mutate bindings. A condition of `decide` stands once, and a row is decided once,"
        " where"
        " it is bound.",
    ),
    "C008": Example(
        SHELF,
        (("root Shelf", "root Shelf child Shelf"),),
        "An aggregate is what one command may change together. The key of each child begins with the root's"
        " key: the same names, types and order.",
    ),
    "C009": _example(
        SHELF,
        "create Shelf(branch_id, shelf_id)",
        "create Shelf(shelf_id)",
        "Every row is found by its whole key, from inputs, constants and loop elements (in a create, service"
        " values too), before anything is read. Its entity belongs to an aggregate.",
    ),
    "C010": _example(
        SHELF,
        "    idempotency_key request\n",
        "",
        "Whoever repeats a call must get the first answer and no second effect. Add an input and name it in"
        " `idempotency_key`.",
    ),
    "C011": _example(
        SHELF,
        "Added { shelf: shelf }",
        "Added { shelf: shelf, request: request }",
        "The key is an input of `uuid` or of `string<1>` to `string<128>` that serves nothing else: only its"
        " digest is kept.",
    ),
    "C012": _example(
        SHELF,
        "    set shelf.books = 0\n",
        "",
        "Set every field that is neither a key, nor optional, nor the state of a workflow with `initial`, and"
        " before anything reads it.",
    ),
    "C013": _example(
        SHELF,
        "set shelf.books = 0",
        "set shelf.books = 0\n    set shelf.shelf_id = shelf_id",
        "A key never changes, a `read` row is only read, a field is set once on each path, and a decided"
        " row is"
        " set in the arms of its decision.",
    ),
    "C014": _example(
        SHELF,
        "else ShelfExists { shelf_id: shelf_id }",
        "else Added {}",
        "A name carries one payload wherever a command answers it, and the success has a name of its own, so"
        " that a caller can tell them apart.",
    ),
    "C015": _example(
        SHELF,
        "emit ShelfAdded { branch_id: branch_id, shelf_id: shelf_id }",
        "emit ShelfAdded { branch_id: branch_id }",
        "Give each field of the event once; an optional one may be left out.",
    ),
    "C016": _example(
        SHELF,
        "partition_by branch_id",
        "partition_by label",
        "Where a row belongs must not change while it lives, and must be known from the input.",
    ),
    "C017": _example(
        SHELF,
        "emit ShelfAdded { branch_id: branch_id,",
        "emit ShelfAdded { branch_id: shelf_id,",
        "All rows of a command are in one partition, and so are its events: give them the same value.",
    ),
    "C018": _example(
        MEMBER,
        "reference of_club (club_id) -> Club (club_id)",
        "reference of_club (email) -> Club (club_id)",
        "A reference holds the target's whole key in required fields of the same types.",
    ),
    "C020": _example(
        BULK,
        "list<date, 1..366>",
        "list<date, 1..1366>",
        "The message says what is too much and what fits: 1,024 elements and 4,096 rows of a bulk"
        " command, 256"
        " rows of a cascade, 1,500 fields of an entity, 1 MiB of a row, 100 operators in depth.",
    ),
    "C024": _example(
        MEMBER,
        "    read Club(club_id) as club else NoClub {}\n    create",
        "    create",
        "Bind the row that is referred to, by exactly that key, before the row that refers to it: so nothing"
        " refers to what is not there.",
    ),
    "C025": _example(
        MEMBER,
        "unique email_once (club_id, email)",
        "unique email_once (club_id, nick)",
        "A unique holds within one partition and begins with its fields; an absent value could not be"
        " unique.",
    ),
    "C026": _example(
        MEMBER,
        "set member.email = email",
        "set member.email = club.name",
        "The entries of a unique are fetched before a command runs, so their parts are inputs, constants,"
        " loop"
        " elements and keys. A mutate that sets one part sets all that are not keys.",
    ),
    "C033": _example(
        JOB,
        "    state state\n",
        "    state fence\n",
        "A workflow moves one required enum field, which is no key, of an entity of an aggregate; an"
        " entity has"
        " one workflow.",
    ),
    "C034": _example(
        JOB,
        "transition Finish from (Printing) to Done",
        "transition Finish from (Printing) to Finished",
        "States are variants of the enum, transitions have names and edges of their own. In a command a"
        " transition stands once for a mutated row; nothing else writes the state.",
    ),
    "C035": _example(
        JOB,
        FENCE,
        "",
        "A leased row is written only with a lease operation on its binding: once at the top level, or"
        " once in"
        " each apply arm of its decision. Owner and expiry are optional fields and start null; a lease"
        " lasts 1"
        " to 86,400 seconds. A step that nobody holds the lease for, such as an approval, belongs to an"
        " entity of its own: its command changes that row, and creates the leased one, which needs no proof.",
    ),
    "C036": _example(
        MEMBER,
        "create Member(club_id, member_id) as member else MemberExists {} conflict email_once EmailTaken {}\n"
        "    set member.email = email\n    set member.pin = pin\n",
        "read Member(club_id, member_id) as member else MemberMissing {}\n",
        "A service value is fresh on every call, and kept with the receipt: it needs an idempotency key, and"
        " fits the key of a create only.",
    ),
    "C037": _example(
        JOB,
        "transition Start on job revision expected",
        "transition Start on job revision expected + 1",
        "The caller states the revision it has seen; a computed one would prove nothing.",
    ),
    "C038": _example(
        JOB,
        "fencing_token token revision",
        "fencing_token job.fence revision",
        "The caller states who it is, its token and the revision; read from the row they would prove"
        " nothing.",
    ),
    "C039": _example(
        NOTE,
        "principal fact user: uuid",
        "principal fact user: uuid\n  principal fact teams_of: list<list<uuid, 8>, 8>",
        "Facts come from tokens: plain values, optional ones, and lists of plain ones.",
    ),
    "C040": _example(
        NOTE,
        "allow update when",
        "allow read when",
        "A policy names each operation once, and is about an entity of an aggregate. Join conditions with"
        " `||`.",
    ),
    "C041": _example(
        NOTE,
        "teams: list<uuid, 64>",
        "teams: list<uuid, 6400>",
        "At most 64 facts, 1,024 values in one, 64 policies on an entity, 8 probes in a rule.",
    ),
    "C042": _example(
        NOTE,
        "exists Reader.by_user(team_id, principal.user)",
        "exists Reader.by_user(note_id, principal.user)",
        "A probe stays in the row's own partition: give the row's partition fields.",
    ),
    "C043": _example(
        NOTE,
        "exists Reader.by_user(team_id, principal.user)",
        "exists Reader.by_user(team_id)",
        "A probe looks one entry up: give a value for every field of the index.",
    ),
    "C045": _example(
        MEMBER,
        " cascade TooManyMembers {}",
        "",
        "A delete needs a policy that looks after every reference to the row, and an outcome for what the"
        " policy refuses. A leased row never goes in a cascade.",
    ),
    "C046": _example(
        MEMBER,
        "email: member.email }",
        "pin: member.pin }",
        "Write `pin: member.pin reveals member.pin` where it is meant. A secret is never in a key, an"
        " index, a"
        " unique or an invariant.",
    ),
    "W034": _example(
        JOB,
        "    transition Finish from (Printing) to Done\n",
        "",
        "Nothing is refused, but rows can never be in that state: add a transition, or remove the variant.",
    ),
}

LARGE: Final = {
    "S001": "Split the contract, or leave comments out: the text is at most 1,048,576 bytes of UTF-8.",
    "S002": "Split the contract: one database holds one contract, so move what belongs together elsewhere.",
    "S007": "Split the enum, the list or the declaration.",
}
"""Codes whose example would be longer than a page."""


def laid_out(text: str) -> str:
    """An example as it is shown: formatted where it can be read."""
    return (format_contract(text.strip()).text or text).strip()


def page(code: str) -> str:
    example = EXAMPLES.get(code)
    parts = [f"# {code}", "", CODES[code], ""]
    if example is None:
        return "\n".join([*parts, LARGE[code], ""])
    wrong = laid_out(example.wrong)
    found = next(each for each in compile_contract(wrong, "wrong.riff").diagnostics if each.code == code)
    parts += [example.advice, "", "## Refused" if code[0] != "W" else "## Warned of", ""]
    parts += ["```riff", wrong, "```", "", f"Line {found.span.start.line}: {found.message}.", ""]
    parts += ["## Right", "", "```riff", laid_out(example.right), "```", ""]
    return "\n".join(parts)


def index() -> str:
    lines = [
        "# Diagnostics",
        "",
        "What the compiler says about a contract. S: the text cannot be read; C: it is read and refused;",
        "W: it is fine, but look here. A code keeps its meaning from release to release.",
        "",
        "| code | refused, or warned of |",
        "|---|---|",
        *(f"| [{code}]({code}.md) | {summary} |" for code, summary in CODES.items()),
        "",
    ]
    return "\n".join(lines)


OUTPUTS: Final = (f"{FOLDER}/index.md", *(f"{FOLDER}/{code}.md" for code in CODES))


def pages() -> dict[str, str | bytes]:
    """All pages by path; `tools.generated` writes and checks them."""
    return {f"{FOLDER}/index.md": index(), **{f"{FOLDER}/{code}.md": page(code) for code in CODES}}
