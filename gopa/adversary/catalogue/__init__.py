"""The attacks that come with the library. Importing this registers them, family by family."""

from gopa.adversary.catalogue import accusations as accusations
from gopa.adversary.catalogue import board as board
from gopa.adversary.catalogue import coins as coins
from gopa.adversary.catalogue import dropouts as dropouts
from gopa.adversary.catalogue import equivocation as equivocation
from gopa.adversary.catalogue import keys as keys
from gopa.adversary.catalogue import masks as masks
from gopa.adversary.catalogue import noise as noise
from gopa.adversary.catalogue import openings as openings
from gopa.adversary.catalogue import organiser as organiser
from gopa.adversary.catalogue import replays as replays
from gopa.adversary.catalogue import rows as rows
from gopa.adversary.catalogue import served as served
from gopa.adversary.catalogue import strangers as strangers
from gopa.adversary.catalogue import values as values
