-- A long text has a vector for each of its overlapping pieces; how much a text states is no longer
-- kept, because recall reads it from the words.
-- alters: table {name}_memory
-- alters: table {name}_memory_embeddings
-- The view and the trigger that name the column are made anew afterwards.
DROP VIEW {family}_memory_current;
DROP TRIGGER immutable ON {family}_memory;
ALTER TABLE {family}_memory DROP COLUMN substance;
ALTER TABLE {family}_memory_embeddings ADD COLUMN piece smallint NOT NULL DEFAULT 0;
ALTER TABLE {family}_memory_embeddings DROP CONSTRAINT {name}_embeddings_profile;
ALTER TABLE {family}_memory_embeddings ADD CONSTRAINT {name}_embeddings_profile
    UNIQUE ({tenant}, anchor_id, memory_id, profile_id, piece);
