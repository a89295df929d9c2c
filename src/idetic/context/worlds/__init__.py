"""The reference canonical context of the World Agent: worlds, rules and their versions."""
