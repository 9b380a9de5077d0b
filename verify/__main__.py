"""Prove the claim of a witness: python -m prvcore_verify FILE."""

import sys

from . import Refused, in_words, prove, read


def main(arguments):
    """Print "proved" and what was, and return 0, or the first inequality that fails and 1."""
    if len(arguments) != 1:
        print("one argument is needed: the file of a witness", file=sys.stderr)
        return 2
    try:
        witness = read(arguments[0])
        prove(witness)
    except Refused as refusal:
        print(f"not proved: {refusal}")
        return 1
    except OSError as error:
        print(error, file=sys.stderr)
        return 2
    print("proved", *in_words(witness), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
