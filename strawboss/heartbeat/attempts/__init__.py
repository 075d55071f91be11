"""The delivery-attempt ledger: at most one active attempt for a unit of work, and the row of a killed worker stays."""
