"""The one codec between what users write and read, cells, and canonical bytes.

`Codec(contract)` compiles what it is asked for once and keeps it: readers (user value to cell), python
and json (cell to user value), encoders and decoders (cell to canonical bytes and back). Reading order
of the modules under it: `reading`, `showing`, `coders`, `inputs`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar, cast

from treadle.errors import InvariantBroken, UnknownName, check
from treadle.model import coders, compounds, reading, showing
from treadle.model import types as t
from treadle.model.coders import Coder, Encode
from treadle.model.compounds import Member
from treadle.model.contract import Contract, Event, Field
from treadle.model.facts import Cell, Cells
from treadle.model.fields import Fields
from treadle.model.inputs import InputReader
from treadle.model.json_text import scan_json
from treadle.model.reading import Read, Refusal
from treadle.model.scalars import date_text, decimal_text, timestamp_text, uuid_text
from treadle.model.showing import Show, datetime_of, shown_json
from treadle.model.showing import word_value as parse_word
from treadle.text import nearest

_T = TypeVar("_T")
PathReader = Callable[[Any, str], Cell]

_SCALAR_CODERS: Final[dict[type, Coder]] = {
    t.Bool: coders.BOOL,
    t.I64: coders.I64,
    t.U64: coders.U64,
    t.Timestamp: coders.TIMESTAMP,
    t.Date: coders.DATE,
    t.Uuid: coders.UUID,
    t.String: coders.STRING,
    t.Bytes: coders.BYTES,
}
_SCALAR_READERS: Final[dict[type, Read]] = {
    t.Bool: reading.read_bool,
    t.I64: reading.read_i64,
    t.U64: reading.read_u64,
    t.Timestamp: reading.read_timestamp,
    t.Date: reading.read_date,
    t.Uuid: reading.read_uuid,
}


class _Pair(NamedTuple):
    write: Encode
    read: Callable[[bytes], Any]


class _Both(dict[Any, _Pair]):
    """Encoders and decoders by name, compiled when first asked for; a look-up is a plain dict's."""

    def __init__(self, make: Callable[[Any], Coder]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, name: Any) -> _Pair:
        coder = self._make(name)
        pair = self[name] = _Pair(coders.writer(coder), coders.reader(coder))
        return pair


class Codec:
    """Conversions for the types of one contract. Immutable in what it answers; safe for threads."""

    def __init__(self, contract: Contract) -> None:
        self._variants = {enum.name: enum.variants for enum in contract.enums}
        self._entities = {entity.name: entity for entity in contract.entities}
        self._events = {event.name: event for event in contract.events}
        self._commands = {command.name: command for command in contract.commands}
        self._reimports = {command.name: command for command in contract.reimports}
        self._facts = contract.principal_facts
        self._kept: dict[tuple[object, ...], Any] = {}
        self._inputs: dict[str, InputReader] = {}
        self._rows = _Both(self._row_coder)
        self._keys = _Both(self._key_coder)
        self._event_fields = _Both(self._event_coder)
        self._partitions = _Both(self._partition_coder)
        self._sealed = _Both(self._services_coder)
        self._outcomes = _Both(self._outcome_coder)

    def _keep(self, key: tuple[object, ...], make: Callable[[], _T]) -> _T:
        """What `make` gives, made once for `key`; two threads may both make it, and the results are alike."""
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = make()
        return cast(_T, found)

    # User values to cells.

    def reader(self, kind: t.Type) -> PathReader:
        """`read(value, path)`: the cell of a value in its Python type or JSON form.

        It raises `InvalidInput` with the path and what to write.
        """
        return self._keep(("reader", kind), lambda: _with_path(self._read(kind)))

    def _read(self, kind: t.Type) -> Read:
        return self._keep(("read", kind), lambda: self._make_read(kind))

    def _make_read(self, kind: t.Type) -> Read:
        match kind:
            case t.Decimal():
                return reading.decimal_reader(str(kind), kind.precision, kind.scale)
            case t.Money():
                return reading.decimal_reader(str(kind), t.MONEY_PRECISION, t.MONEY_SCALE)
            case t.String():
                return reading.string_reader(kind.maximum)
            case t.Bytes():
                return reading.bytes_reader(kind.maximum)
            case t.Enum():
                return reading.enum_reader(kind.name, self._variants[kind.name])
            case t.Optional():
                return reading.optional_reader(self._read(kind.item))
            case t.List():
                return reading.list_reader(str(kind), self._read(kind.item), kind.minimum, kind.maximum)
            case t.Record():
                return self._fields_reader(kind.entity, self._entity(kind.entity).members)
            case _:
                return _SCALAR_READERS[type(kind)]

    def _fields_reader(self, what: str, fields: Sequence[Field]) -> Fields:
        members = [
            (field.name, self._read(field.type), isinstance(field.type, t.Optional)) for field in fields
        ]
        return Fields(what, members)

    def fields_reader(self, what: str, fields: Sequence[Field]) -> PathReader:
        """`read(mapping, path)`: the cells of these fields in order, from a mapping or a dataclass."""
        return _with_path(self._fields_reader(what, tuple(fields)))

    def input_reader(self, command: str) -> InputReader:
        """The reader of a command's (or reimport command's) input; raises `UnknownName`."""
        found = self._inputs.get(command)
        if found is None:
            found = self._inputs[command] = self._make_input(command)
        return found

    def _make_input(self, name: str) -> InputReader:
        command = self._commands.get(name)
        if command is not None:
            inputs, key = command.inputs, command.idempotency_key
        elif name in self._reimports:
            inputs, key = (self._reimports[name].input,), None
        else:
            raise UnknownName(f"no command {name}{nearest(name, self._commands)}")
        return InputReader(inputs, key, self._fields_reader(f"command {name}", inputs), self._members(inputs))

    def facts_reader(self, facts: Mapping[str, Any]) -> dict[str, Cell]:
        """A principal's facts as cells by name; one that is not given, or None, is not there.

        Raises `InvalidInput` for a fact that is not declared or of another type.
        """
        cells = self.fields_reader("the principal's facts", self._fact_fields())(facts, "facts")
        return self._known_facts(cells)

    def _known_facts(self, cells: Cells) -> dict[str, Cell]:
        return {field.name: cell for field, cell in zip(self._facts, cells, strict=True) if cell is not None}

    # Cells to user values.

    def python(self, kind: t.Type) -> Show:
        """From a cell to its Python value: UUID, aware datetime in UTC, date, Decimal, dict for a record."""
        return self._keep(("python", kind), lambda: self._compound(kind, showing.python_scalar, self.python))

    def json(self, kind: t.Type, integers_as_strings: bool = False) -> Show:
        """From a cell to its JSON value; u64 and i64 as text where `integers_as_strings`."""
        return self._keep(
            ("json", kind, integers_as_strings),
            lambda: self._compound(
                kind,
                lambda scalar: showing.json_scalar(scalar, integers_as_strings),
                lambda inner: self.json(inner, integers_as_strings),
            ),
        )

    def _compound(
        self, kind: t.Type, scalar: Callable[[t.Type], Show], inner: Callable[[t.Type], Show]
    ) -> Show:
        match kind:
            case t.Optional():
                item = inner(kind.item)
                return item if item is showing.same else lambda cell: None if cell is None else item(cell)
            case t.List():
                entry = inner(kind.item)
                return lambda cells: [entry(cell) for cell in cells]
            case t.Record():
                parts = [(field.name, inner(field.type)) for field in self._entity(kind.entity).members]
                return lambda cells: {
                    name: show(cell) for (name, show), cell in zip(parts, cells, strict=True)
                }
            case _:
                return scalar(kind)

    def format_cell(self, kind: t.Type, cell: Cell) -> str:
        """A cell as text for a terminal: its JSON form, text bare, control characters spelled out."""
        return shown_json(self.json(kind)(cell))

    # Cells to canonical bytes and back.

    def coder(self, kind: t.Type) -> Coder:
        """The coder of a type; see `treadle.model.coders`."""
        return self._keep(("coder", kind), lambda: self._make_coder(kind))

    def _make_coder(self, kind: t.Type) -> Coder:
        match kind:
            case t.Decimal():
                return coders.decimal_(kind.scale)
            case t.Money():
                return coders.money(kind.currency)
            case t.Enum():
                return coders.enum(self._variants[kind.name])
            case t.Optional():
                return compounds.optional(self.coder(kind.item))
            case t.List():
                return compounds.list_(self.coder(kind.item))
            case t.Record():
                return compounds.record(self._members(self._entity(kind.entity).members))
            case _:
                return _SCALAR_CODERS[type(kind)]

    def _members(self, fields: Sequence[Field]) -> list[Member]:
        return [Member(field.name, self.coder(field.type)) for field in fields]

    def _entity(self, name: str) -> Any:
        check(name in self._entities, "an entity of the contract")
        return self._entities[name]

    def encoder(self, kind: t.Type) -> Encode:
        """From a cell to its canonical bytes."""
        return self._keep(("encoder", kind), lambda: coders.writer(self.coder(kind)))

    def decoder(self, kind: t.Type) -> Callable[[bytes], Cell]:
        """From canonical bytes to the cell; raises `DatabaseCorrupt` for bytes of another type."""
        return self._keep(("decoder", kind), lambda: coders.reader(self.coder(kind)))

    def fields_coder(self, fields: Sequence[Field]) -> Coder:
        """The coder of a tuple of cells in the order of `fields` as one canonical record."""
        wanted = tuple(fields)
        return self._keep(("fields", wanted), lambda: compounds.record(self._members(wanted)))

    def fields_encoder(self, fields: Sequence[Field]) -> Encode:
        """From a tuple of cells in the order of `fields` to one canonical record."""
        return coders.writer(self.fields_coder(fields))

    def fields_decoder(self, fields: Sequence[Field]) -> Callable[[bytes], Cells]:
        """The inverse of `fields_encoder`; absent optionals are None."""
        return coders.reader(self.fields_coder(fields))

    def row_encoder(self, entity: str) -> Encode:
        """From a row's cells to its image, a canonical record."""
        return self._rows[entity].write

    def row_decoder(self, entity: str) -> Callable[[bytes], Cells]:
        """The inverse of `row_encoder`."""
        return self._rows[entity].read

    def key_encoder(self, entity: str) -> Encode:
        """From a key's cells to a canonical list."""
        return self._keys[entity].write

    def key_decoder(self, entity: str) -> Callable[[bytes], Cells]:
        """The inverse of `key_encoder`."""
        return self._keys[entity].read

    def event_encoder(self, event: str) -> Encode:
        """From an event's cells, in declared order, to one canonical record."""
        return self._event_fields[event].write

    def event_decoder(self, event: str) -> Callable[[bytes], Cells]:
        """The inverse of `event_encoder`."""
        return self._event_fields[event].read

    def partition_encoder(self, event: str) -> Encode:
        """From the values of an event's partition fields to a canonical list."""
        return self._partitions[event].write

    def partition_decoder(self, event: str) -> Callable[[bytes], Cells]:
        """The inverse of `partition_encoder`."""
        return self._partitions[event].read

    def services_encoder(self, command: str) -> Encode:
        """From a command's sealed service values, in declared order, to one canonical record."""
        return self._sealed[command].write

    def services_decoder(self, command: str) -> Callable[[bytes], Cells]:
        """The inverse of `services_encoder`."""
        return self._sealed[command].read

    def _row_coder(self, entity: str) -> Coder:
        return self.fields_coder(self._entity(entity).members)

    def _key_coder(self, entity: str) -> Coder:
        return self._listed(self._entity(entity).key)

    def _event_coder(self, event: str) -> Coder:
        return self.fields_coder(self._event(event).fields)

    def _partition_coder(self, event: str) -> Coder:
        declared = self._event(event)
        by_name = {field.name: field for field in declared.fields}
        return self._listed([by_name[name] for name in declared.partition_by])

    def _services_coder(self, command: str) -> Coder:
        kinds: dict[str, t.Type] = {"uuid_v7": t.UUID, "transaction_time": t.TIMESTAMP}
        services = self._commands[command].services
        return self.fields_coder([Field(service.name, kinds[service.kind]) for service in services])

    def _listed(self, fields: Sequence[Field]) -> Coder:
        return compounds.row([self.coder(field.type) for field in fields])

    def _event(self, name: str) -> Event:
        check(name in self._events, "an event of the contract")
        return self._events[name]

    def outcome_encoder(self, command: str, outcome: str) -> Encode:
        """From an outcome's cells, in declared order, to one canonical record."""
        return self._outcomes[command, outcome].write

    def outcome_decoder(self, command: str, outcome: str) -> Callable[[bytes], Cells]:
        """The inverse of `outcome_encoder`."""
        return self._outcomes[command, outcome].read

    def _outcome_coder(self, named: tuple[str, str]) -> Coder:
        command, outcome = named
        declared = self._commands.get(command) or self._reimports.get(command)
        for candidate in declared.outcomes if declared else ():
            if candidate.name == outcome:
                return self.fields_coder(candidate.fields)
        raise InvariantBroken("an outcome that the command does not declare")

    def facts_encoder(self, facts: Mapping[str, Cell]) -> bytes:
        """A principal's facts as one canonical record; a fact that is not there is left out."""
        return self.fields_encoder(self._fact_fields())(tuple(facts.get(field.name) for field in self._facts))

    def facts_decoder(self, data: bytes) -> dict[str, Cell]:
        """The inverse of `facts_encoder`."""
        return self._known_facts(self.fields_decoder(self._fact_fields())(data))

    def _fact_fields(self) -> list[Field]:
        # What a policy needs and the principal lacks makes the rule false, so every fact may be absent.
        return [Field(field.name, t.Optional(t.required(field.type))) for field in self._facts]


def _with_path(read: Read) -> PathReader:
    def read_at(value: Any, path: str) -> Cell:
        try:
            return read(value)
        except Refusal as refusal:
            raise refusal.at(path) from None

    return read_at


__all__ = [
    "Codec",
    "InputReader",
    "date_text",
    "datetime_of",
    "decimal_text",
    "parse_word",
    "scan_json",
    "timestamp_text",
    "uuid_text",
]
