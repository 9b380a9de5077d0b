"""Ask prvcore random questions and compare with an oracle that shares no idea with it.

The oracle computes in balls, by Arb: what it says holds, and nothing is forgiven. `pairs` says
which pair a mechanism has, `nesting` that of one that is made of others, `laws` and `batches`
describe the losses; `residues`, `contour` and the sums in `oracle` are ways to a value of delta, of
which `oracle` chooses one; `worst` says what data sets lose where a pair is attained by none.
`settings` draws a kind of setting; `parameters`, `mechanisms`, `points`, `compositions` and
`questions` draw the rest. `judge` compares. Run it by `python -m tests.oracle --minutes 20`.
"""
