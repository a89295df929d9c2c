-- object: index {family}_hnsw_{cell_name}
-- One shared partial HNSW per (tier, typology), never per tenant: lock tables run out near
-- 2,000 tenants (D3, measured in DESIGN).
CREATE INDEX {i_hnsw} ON {embeddings} USING hnsw (embedding {vector_ops})
    WHERE tier = {tier} AND typology = {typology};
