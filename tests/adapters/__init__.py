"""The interfaces of other libraries, against those libraries."""
