-- object: view {family}_memory_with_{noun}
-- Entries beside the canonical content they refer to, joined when read and never copied.
DROP VIEW IF EXISTS {v_canonical};
CREATE VIEW {v_canonical} WITH (security_invoker = true) AS
    SELECT {anchor_of_r}, r.memory_id, r.{canonical_id}, {view_columns} r.created_at AS referenced_at
    FROM {refs} r
    JOIN {canonical} c ON c.{tenant} = r.{tenant} AND c.{canonical_id} = r.{canonical_id};
GRANT SELECT ON {v_canonical} TO idetic_app, idetic_auditor;
