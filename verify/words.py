"""What a witness claims, in words."""

__all__ = ["in_words"]

_NEIGHBORS = {"add-or-remove": "added or removed", "replace-one": "replaced"}
_NEIGHBORS |= {"add": "added", "remove": "removed"}


def in_words(witness):
    """Return the claim of a proved witness, in lines: decimals name the doubles exactly."""
    ((given, asked),) = witness["question"].items()
    lower, upper = (float.fromhex(witness["claim"][side]) for side in ("lower", "upper"))
    wanted = "epsilon" if given == "delta" else "delta"
    size = witness["steps"][0]["mechanism"].get("group_size", 1)  # that of all steps
    differ = "one record is" if size == 1 else f"{size} records are"
    return [
        *(f"  {_named(step['mechanism'])}, {_times(step['count'])}" for step in witness["steps"]),
        f"  if {differ} {_NEIGHBORS[witness['neighbors']]}:",
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
    if isinstance(part, list) and part and isinstance(part[0], list):
        return ", ".join(f"{_named(one)} {_times(count)}" for one, count in part).join("[]")
    return repr(part)
