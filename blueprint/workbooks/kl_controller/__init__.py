"""The adaptive KL controller: the coefficient of the KL follows the KL that is measured."""
