"""DPO and its relatives."""
