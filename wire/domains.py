"""Every domain-separation label of the project, in one place.

A label keeps one use of a hash, a stream or a signature apart from all others.
Labels look like `gopa/v1/<area>/<purpose>`. No label is a prefix of another, so
they stay apart even where nothing frames them. A new use gets a new constant
here, never a literal elsewhere; a test holds the tree to that.

Changing a label changes what is hashed: old transcripts no longer verify.
"""

from __future__ import annotations

import hashlib
from typing import Final, NewType

Domain = NewType("Domain", bytes)
"""A label; only this module makes them."""

STREAM_DOMAIN_SIZE: Final = 12

GENERATORS: Final = Domain(b"gopa/v1/commitments/generators")
"""Bases of commitments, hashed to the group."""

TRANSCRIPT: Final = Domain(b"gopa/v1/zkp/transcript")
"""The first thing every Fiat-Shamir transcript absorbs."""

PROVER_NONCES: Final = Domain(b"gopa/v1/zkp/prover-nonces")
"""Hedged nonces: fresh randomness, witness and transcript together."""

HEDGED_STREAM: Final = Domain(b"gopa/v1/zkp/hedged-stream")
"""Randomness for other secrets, from one hedged nonce."""

ROW_PROOFS: Final = Domain(b"gopa/v1/zkp/long-rows")
"""Transcripts from which blindings of rows are drawn, before there is a proof about them."""

BATCH_WEIGHTS: Final = Domain(b"gopa/v1/zkp/batch-weights")
"""Random weights that merge many verification equations into one."""

SIGMA_BATCH_WEIGHTS: Final = Domain(b"gopa/v1/zkp/sigma-batch-weights")
"""The same for batches of Sigma proofs."""

BIT_SHAPE: Final = Domain(b"gopa/v1/zkp/bit-shape")
"""The hash that names the fixed part of a statement about hidden bits."""

NOISE_TABLE: Final = Domain(b"gopa/v1/zkp/noise-table")
"""The hash that names a noise law in statements and manifests."""

GRAPH: Final = Domain(b"gopa/v1/protocol/graph")
"""The stream from which a party's neighbours are drawn."""

PARTY: Final = Domain(b"gopa/v1/protocol/party")
"""The hash that turns a party's key into its id."""

SESSION: Final = Domain(b"gopa/v1/protocol/session")
"""The hash that turns a manifest into the id of its session."""

STEP_CHANCE: Final = Domain(b"gopa/v1/protocol/step-chance")
"""Transcripts from which a party's secrets of one step are drawn."""

POSSESSION: Final = Domain(b"gopa/v1/protocol/possession")
"""Proofs that a party knows the secret of its Diffie-Hellman key."""

INPUT_AND_NOISE: Final = Domain(b"gopa/v1/protocol/input-and-noise")
EXACT_INPUT: Final = Domain(b"gopa/v1/protocol/exact-input")
"""Proofs that a party's input is in range and its noise drawn."""

WEIGHING: Final = Domain(b"gopa/v1/protocol/weighing")
"""Proofs that coordinates are at most what their weight allows."""

ROW_INPUT: Final = Domain(b"gopa/v1/protocol/long-input")
"""Proofs that a long vector and its noise are as short as the manifest says."""

ROW_MASKS: Final = Domain(b"gopa/v1/protocol/long-masks")
"""Proofs that the words of a long vector are made of it, its noise and masks."""

CARRY_TESTS: Final = Domain(b"gopa/v1/protocol/carry-tests")
"""Which entries of its carries a party adds up for all to see."""

EQUATION_POINTS: Final = Domain(b"gopa/v1/protocol/equation-points")
"""The points at which the equation of a long vector is checked."""

SHARED_KEY: Final = Domain(b"gopa/v1/protocol/shared-key")
"""Proofs that an accuser shows the key it really shares."""

OPENING_WEIGHTS: Final = Domain(b"gopa/v1/protocol/opening-weights")
"""Random weights that merge the openings of a round into one equation."""

REVEAL_HASH: Final = Domain(b"gopa/v1/beacon/reveal-hash")
"""The commitment to a nonce that is revealed later."""

CHOICES: Final = Domain(b"gopa/v1/beacon/choices")
"""The seed of one party's neighbours, from its own nonce."""

JOINT_COINS: Final = Domain(b"gopa/v1/beacon/joint-coins")
"""The coins of a round from all revealed nonces."""

DRAND_COINS: Final = Domain(b"gopa/v1/beacon/drand-coins")
"""The coins of a round from the value of a drand beacon."""

SIMULATION_COINS: Final = Domain(b"gopa/v1/beacon/simulation-coins")
"""Coins of a simulation, which nobody had to wait for; never for a session."""

GRAPH_SEED: Final = Domain(b"gopa/v1/beacon/graph-seed")
"""The one seed of everybody's neighbours, from the coins of a round."""

DRAW_COIN: Final = Domain(b"gopa/v1/beacon/draw-coin")
"""The public half of one draw of noise."""

FLIP_COINS: Final = Domain(b"gopa/v1/beacon/flip-coins")
"""The public flips of a party's weighted bits."""

INPUT_TESTS: Final = Domain(b"gopa/v1/beacon/input-tests")
"""Which entries of its long vector and noise a party adds up for all to see."""

SIGNED_PERMUTATION: Final = Domain(b"gopa/v1/beacon/signed-permutation")
"""Where the coins move a party's noise for a long vector."""

MASK_TABLE: Final = Domain(b"gopa/v1/masks/table")
"""The hash that names a law of masks in manifests."""

EDGE_KEY: Final = Domain(b"gopa/v1/masks/edge-key")
"""From the shared point of two parties to the key of their mask, the one a rollback opens."""

SHARE_KEY: Final = Domain(b"gopa/v1/masks/share-key")
"""From the same point to the key that hides a share on its way; it is never opened."""

SELF_KEY: Final = Domain(b"gopa/v1/masks/self-key")
"""From a party's seed to the key of its own mask in one round."""

EDGE_VALUES: Final = Domain(b"gopa/v1/masks/edge-values")
"""The stream of an edge key that gives the values of a committed mask."""

EDGE_BLINDING: Final = Domain(b"gopa/v1/masks/edge-blinding")
"""The stream of an edge key that gives the blinding of its commitment."""

EDGE_WORDS: Final = Domain(b"gopa/v1/masks/edge-words")
"""The stream of an edge key that masks an array of words."""

SELF_VALUES: Final = Domain(b"gopa/v1/masks/self-values")
"""The stream of a self key that gives the values of a committed mask."""

SELF_BLINDING: Final = Domain(b"gopa/v1/masks/self-blinding")
"""The stream of a self key that gives the blinding of its commitment."""

SELF_WORDS: Final = Domain(b"gopa/v1/masks/self-words")
"""The stream of a self key that masks an array of words."""

EDGE_HASH: Final = Domain(b"gopa/v1/masks/edge-hash")
"""The hash that commits both ends to an edge key where nothing is proved about masks."""

SEED_HASH: Final = Domain(b"gopa/v1/masks/seed-hash")
"""The hash that commits a party to its seed where nothing is proved about masks."""

EQUATION_KEY: Final = Domain(b"gopa/v1/masks/equation-key")
"""From the key of a mask to that of its blinding under one close of publish."""

EDGE_EQUATION: Final = Domain(b"gopa/v1/masks/edge-equation")
"""The stream of such a key that hides what the words of an edge are at a few points."""

SELF_EQUATION: Final = Domain(b"gopa/v1/masks/self-equation")
"""The stream of such a key that hides what the words of a party's own mask are there."""

SHARE_PAD: Final = Domain(b"gopa/v1/masks/share-pad")
"""The stream of a share key that hides one share."""

SIMULATION_SEED: Final = Domain(b"gopa/v1/aggregation/seed")
"""The hash that turns the seed of a reproducible simulation into its randomness."""

SIMULATION_STREAM: Final = Domain(b"gopa/v1/aggregation/stream")
"""All randomness of one purpose in a simulation, from its own seed."""

ROUNDING: Final = Domain(b"gopa/v1/aggregation/rounding")
"""How inputs are rounded to the grid."""

UNPROVED_NOISE: Final = Domain(b"gopa/v1/aggregation/unproved-noise")
"""Noise of parties where nothing is committed or proved."""

NOISE_SEED: Final = Domain(b"gopa/v1/noise/seed")
"""From a seed of noise to the seed of one of its uses."""

NOISE_KEY: Final = Domain(b"gopa/v1/noise/key")
"""From a seed to the key of the draws from one law."""

NOISE_EDGE: Final = Domain(b"gopa/v1/noise/edge")
"""From the one seed of noise that sums to zero to the key of one edge."""

NOISE_DRAWS: Final = Domain(b"gopa/v1/noise/draws")
"""The stream from which exact noise is drawn."""

AUDIT_SPECTRUM: Final = Domain(b"gopa/v1/audit/spectrum")
"""The vector with which an audit certifies the spectrum of a large graph."""

SESSION_CHANCE: Final = Domain(b"gopa/v1/sessions/chance")
"""All chance of one step of a party that keeps a journal."""

VAULT_RECORD: Final = Domain(b"gopa/v1/sessions/vault-record")
"""The checksum of a record of a vault, with its place."""

BOX_NONCE: Final = Domain(b"gopa/v1/sessions/box-nonce")
"""The nonce of a box, from its key, fresh bytes and what is in it."""

VAULT_MARK: Final = Domain(b"gopa/v1/sessions/vault-mark")
"""The chain of a vault's records, of which a mark names the last."""

TUNNEL_STATE: Final = Domain(b"gopa/v1/sessions/tunnel-state")
"""The key and the nonce that seal the state of a party that is called."""

TUNNEL_SLOT: Final = Domain(b"gopa/v1/sessions/tunnel-slot")
"""The names and keys of what a state keeps apart because it is large."""

TUNNEL_CHANCE: Final = Domain(b"gopa/v1/sessions/tunnel-chance")
"""What a party that is called draws round secrets from, and how that moves on."""

TUNNEL_ANSWER: Final = Domain(b"gopa/v1/sessions/tunnel-answer")
"""The hash by which a guard knows an answer."""

LETTER_KEY: Final = Domain(b"gopa/v1/sessions/letter-key")
"""From a shared point of two users to the key of one letter."""

INVITATION_NAME: Final = Domain(b"gopa/v1/sessions/invitation-name")
"""What an organiser knows an invitation by."""

INVITATION_CODE: Final = Domain(b"gopa/v1/sessions/invitation-code")
"""That the owner of an invitation sent a key."""

TWO_PARTY_CIRCUIT: Final = Domain(b"gopa/v1/two-party/circuit")
"""The hash that names a circuit."""

TWO_PARTY_RUN: Final = Domain(b"gopa/v1/two-party/run")
"""The hash that every message of two parties carries on."""

TWO_PARTY_KEY: Final = Domain(b"gopa/v1/two-party/key")
"""The key of the hash of gates, and the labels of what the garbler puts in."""

TWO_PARTY_TRANSFER: Final = Domain(b"gopa/v1/two-party/transfer")
"""From a shared point to one of the two keys of an oblivious transfer."""

TWO_PARTY_COLUMN: Final = Domain(b"gopa/v1/two-party/column")
"""From such a key to a column of many transfers."""

SIMULATED_STREAMS: Final = Domain(b"gopa/v1/simulation/streams")
"""Reproducible randomness of the parties of a simulation, never for a session."""

DRAWS: Final = Domain(b"gopa/v1/simulation/draws")
"""Random graphs and the clocks of simulated agents, never a secret."""

TEST_STREAMS: Final = Domain(b"gopa/v1/tests/streams")
"""Reproducible values for tests and published vectors, never for a session."""

ENTRY_PAYLOAD_TYPE: Final = "application/vnd.gopa.entry.v1"
"""The role in which a party signs an entry of the board (`wire.ed25519`)."""

SNAPSHOT_PAYLOAD_TYPE: Final = "application/vnd.gopa.board-snapshot.v1"
"""The role in which a board seals for itself what follows from its log."""

CARD_PAYLOAD_TYPE: Final = "application/vnd.gopa.card.v1"
"""The role in which a user of a run shows under which point it takes letters."""

LETTER_PAYLOAD_TYPE: Final = "application/vnd.gopa.letter.v1"
"""The role in which a user of a run signs a letter to another one."""


def stream_domain(label: Domain) -> bytes:
    """The 12 bytes that stand for a label where a stream cipher takes a nonce.

    The first bytes of SHA-256 of the label. Twelve bytes do not resist a search
    for collisions, and need not: all labels are constants of this module, and a
    test shows that no two of them share these bytes.
    """
    return hashlib.sha256(label).digest()[:STREAM_DOMAIN_SIZE]
