# The public names of gopa for type checkers; `__init__.py` has them for everybody else, and a test
# compares both. `x as x` is how a stub says that it hands a name on.
# isort: skip_file
# ruff: noqa: A004 - `gopa.sum` is the name under which users look for it

from gopa import (
    accounting as accounting,
    adversary as adversary,
    graph as graph,
    noise as noise,
)
from commitments import (
    backend_status as backend_status,
)
from gopa.aggregation import (
    Aggregator as Aggregator,
    Histogram as Histogram,
    InvalidValue as InvalidValue,
    InvalidWeight as InvalidWeight,
    LocalAggregator as LocalAggregator,
    OutOfRange as OutOfRange,
    Result as Result,
    RoundAborted as RoundAborted,
    Variance as Variance,
    WeightTooSmall as WeightTooSmall,
    average as average,
    average_async as average_async,
    histogram as histogram,
    histogram_async as histogram_async,
    histograms as histograms,
    sum as sum,
    sum_async as sum_async,
    variance as variance,
    variance_async as variance_async,
)
from gopa.auditing import (
    Report as Report,
    audit as audit,
)
from gopa.noise import (
    zero_sum as zero_sum,
)
from gopa.protocol.party import (
    LocalPolicy as LocalPolicy,
    Refusal as Refusal,
)
from gopa.planning import (
    Plan as Plan,
    PrivacyStatement as PrivacyStatement,
    plan as plan,
    privacy as privacy,
)
from gopa.sessions import (
    Client as Client,
    Contribution as Contribution,
    Membership as Membership,
    SessionAggregator as SessionAggregator,
    SessionOver as SessionOver,
    Ticket as Ticket,
    Together as Together,
)
from wire.errors import (
    Aborted as Aborted,
    BackendError as BackendError,
    FaultyBoard as FaultyBoard,
    FaultyParty as FaultyParty,
    GopaError as GopaError,
    InvalidProof as InvalidProof,
    InvalidSignature as InvalidSignature,
    MalformedMessage as MalformedMessage,
    ProtocolError as ProtocolError,
    SuspectedPartyOrBoard as SuspectedPartyOrBoard,
    Unattributed as Unattributed,
    UsageError as UsageError,
)

__version__: str
