"""The algorithms that prvcore is compared with, written down literally.

``compose_prv``: Gopi, Lee, Wutschitz (arXiv:2106.02848). ``fourier_accountant``: Koskela et al.
(arXiv:2006.07134, arXiv:2102.12412). ``subsampled_gaussian``: the privacy random variable of both.
"""
