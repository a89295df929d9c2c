-- An entry that says exactly what its source said has its vector too, in the tenant's profile.
INSERT INTO {embeddings} ({anchor}, embedding_id, memory_id, profile_id, tier, typology, embedding, embedded_at)
SELECT {anchor_p}, item.embedding, item.memory, e.profile_id, item.tier, item.typology, e.embedding, r_at
FROM {embeddings} e
WHERE {anchor_is_p_e} AND e.memory_id = item.copy_of AND e.profile_id = (
    SELECT p.profile_id FROM {profiles} p WHERE p.{tenant} = {tenant_p}
    ORDER BY p.activation_id DESC LIMIT 1);
IF FOUND THEN
    UPDATE {memory} m SET embedding_id = item.embedding WHERE {anchor_is_p_m} AND m.memory_id = item.memory;
END IF;
