"""Runs `gopa session create`: makes a session and its ticket for a privacy target and a roster.

Rosters, invitations and the answers to them are files.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import click

from bulletin_board import TrustPolicy, VerifierKey
from bulletin_board.storage.directory import read_secret
from gopa.cli.config import config_option
from gopa.cli.options import (
    as_json_option,
    numbered_lines,
    parse_log_key,
    read_policy,
    read_text,
    reporting,
    show,
    undone,
)
from gopa.cli.plan import plan_of, plan_options, setting_option
from gopa.cli.roster import read_roster, write_roster
from gopa.cli.session_access import known_secret, new_secret, new_secret_options, require_board
from gopa.contract.beacon import LEAGUE_OF_ENTROPY, QUICKNET, DrandChain, parse_chain_info
from gopa.contract.beacon.chain_info import LARGEST_INFO
from gopa.contract.manifest import Beacon, CommitReveal, DrandBeacon, Mode, OpenAdmission, Trust
from gopa.planning.result import Plan
from gopa.planning.target import PlannedMode, PlannedTrust
from gopa.protocol.organiser import SessionSetting, new_manifest
from gopa.sessions.invitations import Invitation, InvitationAnswer, admitted
from gopa.sessions.organising.storage import OrganiserPlace
from gopa.sessions.ticket import Ticket
from gopa.sessions.vault import Secret
from gopa.sessions.vault import identity as identities
from gopa.support.wording import EXACT, EXACT_DIFFERENCE, epsilon_text
from wire.ed25519 import SigningKey
from wire.errors import MalformedMessage, UsageError


def read_answers(invitations: Path, enrolments: Path) -> tuple[bytes, ...]:
    """Reads the keys of all that were invited and have answered.

    Raises `UsageError` that names the line, or says which invitation is in doubt.
    """
    answers = []
    for number, line in numbered_lines(read_text(enrolments)):
        try:
            answers.append(InvitationAnswer.parse(line))
        except MalformedMessage as error:
            raise UsageError(f"{enrolments}, line {number}: {error}") from None
    keys = admitted(read_invitations(invitations), answers)
    if not keys:
        raise UsageError(f"{enrolments} holds no answers: parties make them with `gopa enrol`")
    return keys


def read_invitations(path: Path) -> list[Invitation]:
    """Reads invitations, one a line, from a file that only its owner can read.

    Raises `UsageError` that names the line and repeats nothing of it: invitations are secret.
    """
    text = read_secret(path).reveal().decode("utf-8", "replace")
    found = []
    for number, line in numbered_lines(text):
        try:
            found.append(Invitation.parse(line))
        except UsageError as error:
            raise UsageError(f"{path}, line {number}: {error.message}") from None
    return found


_CHAINS: Final = {"quicknet": QUICKNET, "default": LEAGUE_OF_ENTROPY}
_WITH_WEIGHT: Final = 2
_file = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--board", required=True, help="The address of the board: https://...")
@click.option(
    "--log-key", required=True, help="The verifier key of its log, or its file: log.vkey."
)
@click.option("--roster", type=_file, help="Who may join: as `gopa session roster` writes it.")
@click.option("--invitations", type=_file, help="Or: those that `gopa session invite` made,")
@click.option("--enrolments", type=_file, help="and the answers to them, as `gopa enrol` prints.")
@click.option("--anyone", is_flag=True, help="Let anybody join: nobody knows who colludes.")
@click.option(
    "--identity",
    type=_file,
    help="Your key, as `gopa keygen` has made it, for a board that registers organisers; without"
    " it a new one is made. The session is sealed as it is.",
)
@click.option("--title", default="", help="What the session is about, for people.")
@setting_option("mode", "Prove ranges and noise, or only sign.", without={"off"})
@setting_option("trust", "Whom it withstands; the second one needs --mode signed.")
@click.option("--weighted", is_flag=True, help="The last coordinate is a private weight.")
@click.option("--policy", "policy_path", type=_file, help="A tlog policy: which witnesses count.")
@click.option(
    "--chain",
    default="quicknet",
    show_default=True,
    help="With --beacon drand: quicknet, default, or a file as relays serve it at /info.",
)
@click.option("--offline", is_flag=True, help="Do not ask the board whether it is there.")
@new_secret_options
@as_json_option
@config_option("session.create")
def create(  # noqa: PLR0913 - one argument for each option
    *,
    directory: Path,
    board: str,
    log_key: str,
    roster: Path | None,
    invitations: Path | None,
    enrolments: Path | None,
    anyone: bool,
    identity: Path | None,
    title: str,
    mode: PlannedMode,
    trust: PlannedTrust,
    weighted: bool,
    policy_path: Path | None,
    chain: str,
    offline: bool,
    ask: bool,
    passphrase_file: Path | None,
    key_file: Path | None,
    as_json: bool,
    **planned: Any,
) -> None:
    """Plan a session and write everything it needs into the new DIRECTORY.

    DIRECTORY/ticket.json is for the parties, DIRECTORY/anchors.txt for auditors: send them
    over a channel that they trust. The rest stays here; DIRECTORY/roster.txt keeps the names
    of the roster, for `gopa session status` and `gopa audit --roster`. Nothing is posted before
    `gopa session open`.
    """
    with reporting():
        key = parse_log_key(log_key)
        policy = None if policy_path is None else _policy(policy_path, key)
        _check_address(board, key)
        keys = _RosterOptions(roster, invitations, enrolments, anyone).keys()
        made = _planned(planned, keys, mode, trust, weighted=weighted)
        setting = SessionSetting(
            mode=Mode[mode.upper()],
            trust=Trust[trust.upper().replace("-", "_")],
            beacon=_beacon(made.terms.beacon, chain),
            title=title,
            weighted=weighted,
        )
        if not offline:
            require_board(board, policy or TrustPolicy.single_log(key))
        place = OrganiserPlace(directory)
        opened, own = _organiser(identity, passphrase_file, key_file, ask=ask)
        admission = OpenAdmission(made.terms.parties) if keys is None else keys
        # A trial first: nothing is written for a session that cannot be.
        manifest = new_manifest(
            made,
            admission,
            organiser=own.public.data,
            log=key,
            rng=os.urandom,
            setting=setting,
            policy=policy,
        )
        # Behind the trial: it may write a new key file.
        secret = opened if identity else new_secret(passphrase_file, key_file, ask=ask)
        with undone(directory):
            own = place.begin(os.urandom, secret, identity)
            manifest = replace(manifest, organiser=own.public.data)
            if roster is not None:
                write_roster(place.roster_path, read_roster(roster))
            ticket = place.keep(manifest, board, os.urandom, secret)
    show(
        {
            "session": ticket.session.hex(),
            "ticket": str(place.ticket_path),
            "anchors": str(place.anchors_path),
            "organiser": own.public.data.hex(),
            "parties": made.terms.parties,
            "corrupt_at_most_as_is_assumed": made.terms.corrupt,
            "joining_at_least": made.terms.survivors,
            "neighbours": made.terms.k,
            "epsilon": epsilon_text(made.terms.epsilon),
            "delta": str(made.terms.delta),
            "standard_error_of_the_mean": float(f"{made.errors.planned:.4g}"),
            "chance_of_a_result": float(f"{made.liveness.session:.4g}"),
            **({"exact": f"{EXACT}; {EXACT_DIFFERENCE}"} if made.terms.exact else {}),
            "sealed": secret is not None,
            **({"warnings": list(made.warnings)} if as_json else {}),
            "next": f"send the ticket to the parties, then: gopa session open {directory}",
        },
        as_json,
    )


plan_options(optional={"parties"})(create)


def _organiser(
    identity: Path | None, passphrase_file: Path | None, key_file: Path | None, *, ask: bool
) -> tuple[Secret | None, SigningKey]:
    """The organiser's own key and what opens it, or a key for the trial alone."""
    if identity is None:
        return None, SigningKey.generate(os.urandom)
    if ask and not identities.is_sealed(identity):
        message = "the key of --identity is not sealed, and the session is as it: leave this out"
        raise UsageError(message, "--passphrase")
    secret = known_secret(identity, passphrase_file, key_file)
    return secret, identities.load(identity, secret)


def _planned(
    planned: dict[str, Any],
    keys: tuple[bytes, ...] | None,
    mode: PlannedMode,
    trust: PlannedTrust,
    *,
    weighted: bool,
) -> Plan:
    """As `gopa plan` does, for as many parties as the roster has."""
    if weighted and planned["dimension"] < _WITH_WEIGHT:
        message = "a value and its weight are two numbers at least: take one more than values have"
        raise UsageError(message, "--dimension")
    parties = planned["parties"]
    if parties is None and keys is None:
        raise UsageError("with --anyone say for how many parties to plan", "--parties")
    if keys is not None and parties not in {None, len(keys)}:
        raise UsageError(f"the roster has {len(keys)} keys: leave --parties out", "--parties")
    count = parties if keys is None else len(keys)
    return plan_of(
        planned, count, mode=mode, trust=trust, weighted=weighted, open_admission=keys is None
    )


@dataclass(frozen=True, slots=True)
class _RosterOptions:
    """The options that say who may join."""

    roster: Path | None
    invitations: Path | None
    enrolments: Path | None
    anyone: bool

    def keys(self) -> tuple[bytes, ...] | None:
        """None for anybody; `UsageError` unless exactly one way was chosen."""
        invited = self.invitations is not None or self.enrolments is not None
        if self.anyone + (self.roster is not None) + invited != 1:
            raise UsageError("say who may join: --roster, --invitations or --anyone")
        if self.roster is not None:
            return tuple(sorted(each.key for each in read_roster(self.roster)))
        if not invited:
            return None
        if self.invitations is None or self.enrolments is None:
            raise UsageError("both: --invitations FILE and --enrolments FILE with the answers")
        return read_answers(self.invitations, self.enrolments)


def _policy(path: Path, key: VerifierKey) -> TrustPolicy:
    try:
        policy = read_policy(path, None)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    # Witnesses of another log say nothing about what this board shows to whom.
    if policy.log.key != key:
        raise UsageError("it trusts another log than --log-key", "--policy")
    return policy


def _check_address(board: str, key: VerifierKey) -> None:
    try:
        Ticket(board, key, bytes(32))
    except UsageError as error:
        raise UsageError(error.message, f"--{error.field}") from None


def _beacon(kind: str, chain: str) -> Beacon:
    if kind != "drand":
        return CommitReveal()
    return DrandBeacon(_CHAINS.get(chain) or _read_chain(Path(chain)))


def _read_chain(path: Path) -> DrandChain:
    try:
        with path.open("rb") as file:
            return parse_chain_info(file.read(LARGEST_INFO + 1))
    except OSError as error:
        names = ", ".join(_CHAINS)
        raise UsageError(
            f"{path} is neither {names} nor a file: {error.strerror}", "--chain"
        ) from None
    except MalformedMessage as error:
        raise UsageError(f"{path} does not describe a chain of drand: {error}", "--chain") from None
