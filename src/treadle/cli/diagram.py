"""`treadle diagram`: a workflow and its lease as a picture."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from treadle.cli import options, screen, session
from treadle.cli.sources import compiled, named
from treadle.cli.verbs import examples, verb_app
from treadle.registry import load

app = verb_app()


class Form(StrEnum):
    """How a diagram is written."""

    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"


ENDINGS: Final = {Form.MERMAID: ".mmd", Form.DOT: ".dot", Form.SVG: ".svg"}


@app.command(
    epilog=examples(
        "treadle diagram shop.riff",
        "treadle diagram shop.riff JobLife --as svg --output job.svg",
        "treadle diagram --as dot | dot -Tpdf > job.pdf",
        "treadle diagram shop.riff --as svg --output pictures/",
    )
)
def diagram(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE] [WORKFLOW]",
            help="The contract, or - for standard input (else contract.source), and a workflow of it.",
        ),
    ] = None,
    form: Annotated[Form, typer.Option("--as", help="How it is written.")] = Form.MERMAID,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="The file to write; a folder takes one for each workflow.",
        ),
    ] = None,
    config: options.ConfigFile = None,
    set_: options.Set = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Draw a workflow: its states, its steps, its lease.

    Each step stands with the commands that take it.
    Mermaid is read by many Markdown viewers, DOT by Graphviz, and SVG by everything: it is laid out here and
    needs no other program. Steps that only the lease's holder can take say so. The lease stands beside the
    states, since it moves by itself. --json prints what is drawn.
    """
    file, name = named(words or [], "a workflow")
    contract = compiled(file, session.settings(config, pairs=set_))
    drawing = load("diagram")
    chosen = [drawing.diagram(contract, name)] if name is not None else drawing.diagrams(contract)
    if not chosen:
        raise typer.BadParameter(f"contract {contract.name} declares no workflow")
    if json:
        screen.out_json({"diagrams": [_json(one) for one in chosen]})
    elif output is None:
        _print(chosen, form)
    else:
        _write(chosen, form, output)


def _print(chosen: Any, form: Form) -> None:
    if len(chosen) > 1:
        names = ", ".join(one.name for one in chosen)
        raise typer.BadParameter(f"there are several workflows; name one ({names}), or --output FOLDER/")
    screen.out(load("diagram").FORMS[form](chosen[0]).rstrip("\n"))


def _write(chosen: Any, form: Form, output: str) -> None:
    folder = output.endswith("/") or Path(output).is_dir()
    if not folder and len(chosen) > 1:
        raise typer.BadParameter(
            f"{output} is one file for several workflows; name one, or a folder as {output}/"
        )
    if folder:
        Path(output).mkdir(parents=True, exist_ok=True)
    for one in chosen:
        path = Path(output) / f"{one.name}{ENDINGS[form]}" if folder else Path(output)
        path.write_text(load("diagram").FORMS[form](one), encoding="utf-8", newline="\n")
        screen.note(f"wrote {path}")


def _json(one: Any) -> dict[str, Any]:
    charts = {"states": one.states, "lease": one.lease}
    return {"workflow": one.name} | {name: chart and _chart(chart) for name, chart in charts.items()}


def _chart(chart: Any) -> dict[str, Any]:
    shown: dict[str, Any] = chart._asdict()
    return shown | {
        "nodes": [node._asdict() for node in chart.nodes],
        "edges": [edge._asdict() for edge in chart.edges],
    }
