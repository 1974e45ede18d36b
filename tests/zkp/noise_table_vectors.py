"""What `specs/vectors/noise_table.json` holds: laws that decode, and encodings refused."""

from __future__ import annotations

from zkp.noise import GaussianTable, NoiseLaw, NoNoise, binomial, irwin_hall

SCALES = ("8", "7.508", "8.016", "8.266", "9.225", "29/3", "1")
REFUSED = {
    "rows that are empty at 48 bits": "0100000000000000400000000000000001300081",
    "not log-concave at 55 bits": "0100000000000000400000000000000001370081",
    "an even number of rows": "0100000000000000400000000000000001300070",
    "one row": "0100000000000000400000000000000001300001",
    "a square not in lowest terms": "0100000000000000800000000000000002300071",
    "a square of zero": "0100000000000000000000000000000001300071",
    "a denominator of zero": "0100000000000000400000000000000000300071",
    "63 bits": "01000000000000004000000000000000013f0071",
    "an unknown kind": "0300000000000000400000000000000001300071",
    "no kind": "",
    "a byte missing": "01000000000000004000000000000000013000",
    "a byte too many": "010000000000000040000000000000000130007100",
    "an odd total weight": "020004" + "00010101",
    "weights with gaps": "020004" + "00020100",
    "runs out of order": "020008" + "00020100" + "00010100",
    "one weight twice": "020008" + "00010080" + "00010080",
    "a weight of zero": "020008" + "00000002" + "00010100",
    "more bits than allowed": "020004" + "00010402",
    "no runs": "020000",
}


def laws() -> dict[str, NoiseLaw]:
    """The laws of the file by name."""
    found: dict[str, NoiseLaw] = {}
    for scale in SCALES:
        rows = 11 if scale == "1" else 113
        found[f"gaussian {scale}"] = GaussianTable.with_scale(scale, rows=rows)
    found["gaussian 8, 117 rows"] = GaussianTable.with_scale(8, rows=117)
    found["gaussian 8, 129 rows"] = GaussianTable.with_scale(8, bits=56, rows=129)
    found["binomial 256"] = binomial(256)
    found["sum of 6 uniforms on 16"] = irwin_hall(6, 4)
    found["none"] = NoNoise()
    return found


def records() -> dict[str, object]:
    """The content of the vector file."""
    return {
        "format": "hexadecimal encodings and hashes; masses in decimal, row -radius first",
        "laws": [
            {
                "name": name,
                "encoding": law.to_bytes().hex(),
                "hash": law.table_hash().hex(),
                "total": str(law.total),
                "masses": [str(mass) for mass in law.masses],
            }
            for name, law in laws().items()
        ],
        "refused": [
            {"name": name, "encoding": encoding, "error": "MalformedMessage"}
            for name, encoding in REFUSED.items()
        ],
    }
