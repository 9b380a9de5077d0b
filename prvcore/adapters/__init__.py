"""Interfaces of other libraries, answered by prvcore.

Each module imports the library whose interface it has, and only when it is imported itself:
`prvcore.adapters.opacus`, `prvcore.adapters.dp_accounting`, and `prvcore.adapters.prv_accountant`,
which needs nothing else.
"""
