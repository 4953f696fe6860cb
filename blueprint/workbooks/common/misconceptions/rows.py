"""What rows are called that several misconceptions read: a name for each kind of workbook."""

V_OLD = "signal.values|values.kept|old_critic.values|values.old"
V_NEW = "critic.values|values.new"
LOGP_OLD, LOGP_NEW, LOGP_REF = "old.logprobs", "policy.logprobs", "reference.logprobs"
NOW = "|".join(f"{name}@0" for name in V_OLD.split("|"))
NEXT = "|".join(f"{name}@1" for name in (*V_OLD.split("|"), "gae.ahead"))
"""The old value in a column, and that of the column after it."""
WORDS = "response.words|window.words|count|advantage.count|reward.count|ev.count"
"""The number by which a mean over tokens divides."""
WEIGHTS = ("policy.E", "policy.W", "policy.Y", "critic.E", "critic.W", "critic.head.w", "critic.head.b")
"""The weights that are trained."""
