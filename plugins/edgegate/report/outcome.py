"""Which errors mean that the surroundings broke, and which mean that the system under test is wrong."""

from edgegate.errors import EnvironmentFault


def fault_of(error: BaseException) -> EnvironmentFault | None:
    """Return the environment fault that an error is, wraps as a group, or was raised from; None for any other.

    An assertion stays a failure whatever it was raised from: whoever asserts has looked and decided. A group is
    a fault only if all of it is, because one wrong answer among broken surroundings is still a wrong answer.
    """
    if isinstance(error, EnvironmentFault):
        return error
    if isinstance(error, BaseExceptionGroup):
        faults = [fault_of(one) for one in error.exceptions]
        return faults[0] if all(faults) else None
    # pytest.fail, pytest.exit and Ctrl-C are no Exception, and each is a decision of its own.
    if isinstance(error, AssertionError) or not isinstance(error, Exception) or error.__cause__ is None:
        return None
    return fault_of(error.__cause__)


def reason(fault: BaseException) -> str:
    """Return an error's text and its notes."""
    return "\n".join([str(fault) or type(fault).__name__, *getattr(fault, "__notes__", [])])


def headline(text: str) -> str:
    """Return the first line of a text, short enough for one line of a terminal."""
    first = text.strip().partition("\n")[0]
    return first if len(first) <= 160 else first[:159] + "…"
