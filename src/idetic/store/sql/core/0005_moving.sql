-- Taking an export in: the role that does it finds the embedding profile that a vector belongs to.
GRANT USAGE ON SCHEMA idetic TO idetic_mover;
GRANT SELECT ON idetic.embedding_profiles TO idetic_mover;
