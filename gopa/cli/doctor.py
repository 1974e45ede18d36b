"""`gopa doctor`: what is installed, which backend runs and why."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gopa.environment import Finding, diagnose

PROBLEM_EXIT = 1


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def doctor(as_json: bool) -> None:
    """Show what is installed, which backend runs, why, and what to do.

    Exits with 1 when something must be mended.
    """
    findings = diagnose()
    if as_json:
        click.echo(json.dumps({"findings": [asdict(finding) for finding in findings]}, indent=2))
    else:
        Console().print(_table(findings))
    if any(finding.problem for finding in findings):
        sys.exit(PROBLEM_EXIT)


def _table(findings: list[Finding]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        style = "bold red" if finding.problem else ""
        table.add_row(finding.topic, f"{escape(finding.value)}", style=style)
        if finding.hint:
            table.add_row("", escape(finding.hint), style="red" if finding.problem else "dim")
    return table
