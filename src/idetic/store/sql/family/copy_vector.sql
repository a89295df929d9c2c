-- An entry that says exactly what its source said has its vector too.
WITH source AS (
    SELECT e.profile_id, e.embedding FROM {memory} m JOIN {embeddings} e
        ON {anchor_m_is_e} AND e.embedding_id = m.embedding_id
    WHERE {anchor_is_p_m} AND m.memory_id = item.copy_of
)
INSERT INTO {embeddings} ({anchor}, embedding_id, memory_id, profile_id, tier, typology, embedding, embedded_at)
SELECT {anchor_p}, item.embedding, item.memory, source.profile_id, item.tier, item.typology,
    source.embedding, r_at FROM source;
IF FOUND THEN
    UPDATE {memory} m SET embedding_id = item.embedding WHERE {anchor_is_p_m} AND m.memory_id = item.memory;
END IF;
