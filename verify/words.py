"""What a witness claims, in words."""

__all__ = ["in_words"]

_NEIGHBORS = {
    "add-or-remove": "one record is added or removed",
    "add": "one record is added",
    "remove": "one record is removed",
    "replace-one": "one record is replaced",
}


def in_words(witness):
    """Return the claim of a proved witness, in lines: decimals name the doubles exactly."""
    ((given, asked),) = witness["question"].items()
    lower, upper = (float.fromhex(witness["claim"][side]) for side in ("lower", "upper"))
    wanted = "epsilon" if given == "delta" else "delta"
    return [
        *(f"  {_named(step['mechanism'])}, {_times(step['count'])}" for step in witness["steps"]),
        f"  if {_NEIGHBORS[witness['neighbors']]}:",
        f"  at {given} = {float.fromhex(asked)!r}, {lower!r} <= {wanted} <= {upper!r}",
    ]


def _times(count):
    return "once" if count == 1 else f"{count} times"


def _named(mechanism):
    parts = [f"{name}={_value(part)}" for name, part in mechanism.items() if name != "type"]
    return f"{mechanism['type']}({', '.join(parts)})"


def _value(part):
    if isinstance(part, dict):
        return _named(part)
    if isinstance(part, list):
        if part and isinstance(part[0], list):
            return ", ".join(f"{_named(one)} {_times(count)}" for one, count in part).join("[]")
        return repr(part)
    return repr(part)
