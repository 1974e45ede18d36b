"""Two users in two processes compare their ratings, and nobody learns more than a noisy answer.

Anna and Ben each rate the room and the reception of a hotel. A garbled circuit says whether they
agree which of the two visits was better: 1, 0 or -1, which is Kendall's kernel, replaced at random
so that every answer is private with epsilon = 1. They speak over a socket pair, then over TLS with
certificates that they know of each other; in the end a message of another round is refused.

    python -m examples.pairwise_two_processes
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import NameOID

from gopa.twoparty import (
    Evaluator,
    Garbler,
    OutOfTurn,
    concordance,
    converse,
    randomised_answer,
)

BITS = 3  # ratings from 0 to 7
CIRCUIT = concordance(BITS, randomised_answer(3, epsilon=1))
ANNA, BEN = [5, 3], [2, 1]


def main() -> None:
    """Run the demonstration."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for user in ("anna", "ben"):
            write_certificate(folder, user)
        for kind in ("socket pair", "TLS"):
            left, right = socket.socketpair()
            round_name = f"round 1, users anna and ben, {kind}".encode()
            certificates = folder if kind == "TLS" else None
            ben = context.Process(target=be_ben, args=(right, round_name, certificates))
            ben.start()
            right.close()
            with (
                left if certificates is None else secured(left, certificates, "anna") as connection
            ):
                party = Garbler(CIRCUIT, ANNA, context=round_name, rng=os.urandom)
                print(f"{kind}: anna learns {converse(party, connection)}")
            ben.join()
        refuse_another_round()


def be_ben(connection: socket.socket, round_name: bytes, certificates: Path | None) -> None:
    """The other process."""
    with connection if certificates is None else secured(connection, certificates, "ben") as line:
        party = Evaluator(CIRCUIT, BEN, context=round_name, rng=os.urandom)
        print(f"ben learns {converse(party, line)}", flush=True)


def refuse_another_round() -> None:
    """Ben is still in round 1 when Anna is in round 2: her machine tells at once."""
    anna = Garbler(CIRCUIT, ANNA, context=b"round 2", rng=os.urandom)
    ben = Evaluator(CIRCUIT, BEN, context=b"round 1", rng=os.urandom)
    anna.start()
    try:
        anna.step(ben.start())
    except OutOfTurn as error:
        print(f"refused: {error}")


def secured(connection: socket.socket, folder: Path, user: str) -> ssl.SSLSocket:
    """TLS over the connection, with the one certificate that is known of the other user."""
    is_server = user == "ben"
    other = "anna" if is_server else "ben"
    settings = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if is_server else ssl.PROTOCOL_TLS_CLIENT)
    settings.check_hostname = False  # the certificate itself is known, whatever name it has
    settings.verify_mode = ssl.CERT_REQUIRED
    settings.minimum_version = ssl.TLSVersion.TLSv1_3
    settings.load_cert_chain(folder / f"{user}.crt", folder / f"{user}.key")
    settings.load_verify_locations(folder / f"{other}.crt")
    connection.settimeout(30)  # for the handshake: `converse` sets its own
    return settings.wrap_socket(connection, server_side=is_server)


def write_certificate(folder: Path, user: str) -> None:
    """A key and a certificate that is signed with it; in life users exchange these beforehand."""
    key, now = Ed25519PrivateKey.generate(), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, user)])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    certificate = (
        builder.not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, None)
    )
    (folder / f"{user}.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / f"{user}.key").write_bytes(secret)


if __name__ == "__main__":
    main()
