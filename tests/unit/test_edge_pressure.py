"""What became of many uploads is told apart: whole, refused for want of room, and anything else."""

from edgegate.edge.pressure import Sent
from edgegate.probes.ladder import Sight

WHOLE = Sight("file 0", status=200, length=20, received="POST length=1180 declared=1180 sha256=ab")
REFUSED = Sight("file 1", status=503, text="could not be checked in time")
CUT = Sight("file 2", status=200, length=20, received="POST length=900 declared=1180 sha256=cd")
BRANDED = Sight("file 3", status=503, received="POST length=1180")
LOST = Sight("file 4", error="context deadline exceeded")


def test_each_is_one_of_three() -> None:
    sent = Sent(1000, [WHOLE, REFUSED, CUT, BRANDED, LOST])

    assert sent.whole == [WHOLE]
    assert sent.refused == [REFUSED]
    assert sent.others == [CUT, BRANDED, LOST]


def test_others_are_told() -> None:
    told = Sent(1000, [WHOLE, LOST]).describe()

    assert told == "1 arrived, 0 were refused with 503; 1 × no answer: context deadline exceeded"
