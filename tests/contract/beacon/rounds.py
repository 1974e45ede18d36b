"""Rounds that public drand networks have published, and how those networks describe themselves.

Data of public beacons: the main network of the League of Entropy (`default`), `quicknet`,
`fastnet` (retired), and a retired test network without chaining.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gopa.contract.beacon import LEAGUE_OF_ENTROPY, QUICKNET, DrandChain, Scheme

FASTNET: Final = DrandChain(
    scheme=Scheme.BLS_UNCHAINED_ON_G1,
    public_key=bytes.fromhex(
        "a0b862a7527fee3a731bcb59280ab6abd62d5c0b6ea03dc4ddf6612fdfc9d01f"
        "01c31542541771903475eb1ec6615f8d0df0b8b6dce385811d6dcf8cbefb8759"
        "e5e616a3dfd054c928940766d9a5b9db91e3b697e5d70a975181e007f87fca5e"
    ),
    period=3,
    genesis=1_677_685_200,
    group_hash=bytes.fromhex("a81e9d63f614ccdb144b8ff79fbd4d5a2d22055c0bfe4ee9a8092003dab1c6c0"),
    beacon_id="fastnet",
    chain_hash=bytes.fromhex("dbd506d6ef76e5f386f41c651dcb808c5bcbd75471cc4eafa3f4df7ad4e4c493"),
)

UNCHAINED_TESTNET: Final = DrandChain(
    scheme=Scheme.PEDERSEN_BLS_UNCHAINED,
    public_key=bytes.fromhex(
        "8200fc249deb0148eb918d6e213980c5d01acd7fc251900d9260136da3b54836"
        "ce125172399ddc69c4e3e11429b62c11"
    ),
    period=3,
    genesis=1_651_677_099,
    group_hash=bytes.fromhex("65083634d852ae169e21b6ce5f0410be9ed4cc679b9970236f7875cff667e13d"),
    beacon_id="testnet-unchained-3s",
    chain_hash=bytes.fromhex("7672797f548f3f4748ac4bf3352fc6c6b6468c9ad40ad456a397545c6e2df5bf"),
)


@dataclass(frozen=True, slots=True)
class Published:
    """One round; `value` where the network's own statement of it is known too."""

    chain: DrandChain
    number: int
    signature: bytes
    previous: bytes | None = None
    value: bytes | None = None


def _published(
    chain: DrandChain, number: int, signature: str, previous: str = "", value: str = ""
) -> Published:
    return Published(
        chain,
        number,
        bytes.fromhex(signature),
        bytes.fromhex(previous) or None,
        bytes.fromhex(value) or None,
    )


ROUNDS: Final = (
    _published(
        LEAGUE_OF_ENTROPY,
        1,
        "8d61d9100567de44682506aea1a7a6fa6e5491cd27a0a0ed349ef6910ac5ac20"
        "ff7bc3e09d7c046566c9f7f3c6f3b10104990e7cb424998203d8f7de586fb7fa"
        "5f60045417a432684f85093b06ca91c769f0e7ca19268375e659c2a2352b4655",
        "176f93498eac9ca337150b46d21dd58673ea4e3581185f869672e59fa4cb390a",
        "101297f1ca7dc44ef6088d94ad5fb7ba03455dc33d53ddb412bbc4564ed986ec",
    ),
    _published(
        LEAGUE_OF_ENTROPY,
        72_785,
        "82f5d3d2de4db19d40a6980e8aa37842a0e55d1df06bd68bddc8d60002e8e959"
        "eb9cfa368b3c1b77d18f02a54fe047b80f0989315f83b12a74fd8679c4f12aae"
        "86eaf6ab5690b34f1fddd50ee3cc6f6cdf59e95526d5a5d82aaa84fa6f181e42",
        "a609e19a03c2fcc559e8dae14900aaefe517cb55c840f6e69bc8e4f66c8d18e8"
        "a609685d9917efbfb0c37f058c2de88f13d297c7e19e0ab24813079efe57a182"
        "554ff054c7638153f9b26a60e7111f71a0ff63d9571704905d3ca6df0b031747",
    ),
    _published(
        LEAGUE_OF_ENTROPY,
        3_311_596,
        "a696b9409ababce45749c3a4ec369074453dd4a79967734e1390d969c8ad8d98"
        "897d217b9121e92c8ddebbddda8d92f900e3bd6bf9deb166863b1a19390d743f"
        "82774001487594c5c09e581db7365f02b70a2c8cc41ce32446ef08e4890c4754",
        "8ed588f2a7716fb1349e2d9803da5db0005e98a83783c353d4a08f183236a9ad"
        "91d70ddb01266f4b7c576983db464b430e65680b9e0098552758afd6c1e6afcb"
        "77e3f62fe1b93d42d1cb63abbb2205512fe12fbf74ea9c5ac3b8f5c1e283a1d8",
        "647c07b2abbf7ff2afb4d670214f565e5cd9f9c91bfdcecb59a21f3c78d73920",
    ),
    _published(
        UNCHAINED_TESTNET,
        223_344,
        "94f6b85df7cce7237e8e7df66d794ddad092de5d8bb6a791b97e905aa89852e5"
        "06ac36a792eba7021e22eebf34891f8914bf9a8dd9233ea0a4c5ca00ef840499"
        "9f899073dd2eade61fe54077fee8168f83dcb61a758b6883b38904054e64a433",
    ),
    _published(
        UNCHAINED_TESTNET,
        19_369_534,
        "a33833d2098f5e0c4df334fb6c5b1c2de3ab293c77825f55d816254dabf7f4f3"
        "d429b6207e1cd2a808876e06058a1f8102bb6f6927b654b391259ea99c3566a4"
        "eb55feb9665dbaf9d33af08a10b1d8d8b35d91fd3536eb4c197be0041beb5dc2",
        value="778180564f4fb9b77580af69a559ce941eb23d8d3180c48c4d290484b516c6aa",
    ),
    _published(
        FASTNET,
        1,
        "9544ddce2fdbe8688d6f5b4f98eed5d63eee3902e7e162050ac0f45905a55657"
        "714880adabe3c3096b92767d886567d0",
    ),
    _published(
        FASTNET,
        23_456,
        "98401ef9833e75bf06fda3243e4fcf6d075d62b45c2a59d26df5d5fcbdfd0c14"
        "ee89fc035abd5528a8c25b68fbecae65",
    ),
    _published(
        QUICKNET,
        123,
        "b75c69d0b72a5d906e854e808ba7e2accb1542ac355ae486d591aa9d43765482"
        "e26cd02df835d3546d23c4b13e0dfc92",
    ),
    _published(
        QUICKNET,
        657_413,
        "b713718a38ae728dfd477991af2822e08d2f305e47718cef9f7848ce4050e7be"
        "41076862b98fad56e91a6b85b89cd97b",
        value="fc1873a13f3545aeade8401532ef5519920652eee6b0d2b19ca12643b87b3587",
    ),
)

ONE_OF_EACH_SCHEME: Final = (ROUNDS[1], ROUNDS[3], ROUNDS[5], ROUNDS[7])


def name(published: Published) -> str:
    """For test ids."""
    return f"{published.chain.beacon_id}-{published.number}"


def info_first(chain: DrandChain) -> dict[str, object]:
    """The fields that a relay of the first version serves."""
    return {
        "public_key": chain.public_key.hex(),
        "period": chain.period,
        "genesis_time": chain.genesis,
        "hash": chain.chain_hash.hex(),
        "groupHash": chain.group_hash.hex(),
        "schemeID": chain.scheme.title,
        "metadata": {"beaconID": chain.beacon_id},
    }


def info_second(chain: DrandChain) -> dict[str, object]:
    """The fields that a relay of the second version serves."""
    return {
        "public_key": chain.public_key.hex(),
        "period": chain.period,
        "genesis_time": chain.genesis,
        "genesis_seed": chain.group_hash.hex(),
        "chain_hash": chain.chain_hash.hex(),
        "scheme": chain.scheme.title,
        "beacon_id": chain.beacon_id,
    }
