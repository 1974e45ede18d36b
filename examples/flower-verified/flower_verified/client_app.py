"""A client trains as in any Flower app; `gopa_mod` sees to it that only shares of sums leave it."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

import gopa
from flower_verified.task import rows, trained
from gopa.contract.manifest import Mode
from gopa.plugins.flower import gopa_mod

# What this client accepts: exact sums, in which inputs need not be proved.
policy = gopa.LocalPolicy(
    epsilon=Decimal(1), delta=Decimal("1e-5"), modes=frozenset(Mode), exact_sums=True
)
app = ClientApp(mods=[gopa_mod(policy, home=Path.home() / ".gopa-flower")])


@app.train()
def train(message: Message, context: Context) -> Message:
    """Improve the model on the rows of this client."""
    client = int(context.node_config["partition-id"])
    x, y = rows(client, int(context.run_config["clients"]))
    weights, bias = message.content["arrays"].to_numpy_ndarrays()
    model, loss = trained((weights, bias), x, y)
    metrics = MetricRecord({"num-examples": len(y), "loss": loss})
    content = RecordDict({"arrays": ArrayRecord(list(model)), "metrics": metrics})
    return Message(content, reply_to=message)
