"""Direct preference: DPO and its relatives, on pairs of a chosen and a rejected response."""
