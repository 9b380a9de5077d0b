"""Ask prvcore random questions and compare with an oracle that shares no idea with it.

`pairs` says which pair a mechanism has; `laws`, `folded` and `batches` describe the losses; `sums`,
`laplace`, `quadrature` and `contour` are ways to a value of delta, of which `oracle` chooses one;
`settings` draws questions, `judge` compares. Run it by `python -m tests.soundness --minutes 20`.
"""
