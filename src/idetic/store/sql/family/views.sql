-- object: view {name}_memory_current
-- What the agent knows now, as the documents have it: with the anchor's keys and the provenance by
-- their names. Everything else stays in the table and in the ledger.
DROP VIEW IF EXISTS {family}_memory_current;
CREATE VIEW {family}_memory_current WITH (security_invoker = true) AS
    SELECT
        -- for each key:
        a.{key},
        -- end
        -- for each provenance:
        m.provenance ->> '{provenance_text}' AS {provenance},
        -- end
        m.*
    FROM {family}_memory m
    JOIN {family}_memory_anchors a ON a.{tenant} = m.{tenant} AND a.anchor_id = m.anchor_id
    WHERE m.archived_at IS NULL AND m.superseded_at IS NULL AND m.invalidated_at IS NULL
      AND m.deleted_at IS NULL;
GRANT SELECT ON {family}_memory_current TO {writers}, {readers};

-- object: view {name}_memory_retention
-- The four retention states, derived from the reference graph and never stored. REFERENCED is what
-- an action rests on, and a transient entry that stayed when its scope closed, because of a
-- contradiction or because something was made of it.
-- ORPHANED is a transient entry that should have gone with its scope: an alert, not a clean-up.
DROP VIEW IF EXISTS {family}_memory_retention;
CREATE VIEW {family}_memory_retention WITH (security_invoker = true) AS
    SELECT m.{tenant}, m.anchor_id, m.memory_id, m.tier, m.typology,
        CASE
            WHEN m.deleted_at IS NOT NULL THEN 'TOMBSTONED'
            WHEN EXISTS (
                SELECT FROM {family}_memory_actions a WHERE a.{tenant} = m.{tenant}
                  AND a.anchor_id = m.anchor_id AND a.memory_id = m.memory_id) THEN 'REFERENCED'
            -- for each contradicted noun:
            WHEN m.tier <> 'persistent' AND EXISTS (
                SELECT FROM {family}_{noun}_contradictions c WHERE c.{tenant} = m.{tenant}
                  AND c.anchor_id = m.anchor_id AND c.memory_id = m.memory_id) THEN 'REFERENCED'
            -- end
            WHEN m.tier <> 'persistent' AND EXISTS (
                SELECT FROM {family}_memory_lineage l JOIN {family}_memory d
                    ON d.{tenant} = m.{tenant} AND d.anchor_id = m.anchor_id
                    AND d.memory_id = l.memory_id AND d.digest_salt IS NOT NULL
                WHERE l.{tenant} = m.{tenant} AND l.anchor_id = m.anchor_id
                  AND l.source_id = m.memory_id) THEN 'REFERENCED'
            -- for each dropped cell:
            WHEN m.tier = '{tier}' AND m.typology = '{typology}' AND EXISTS (
                SELECT FROM {family}_memory_scopes s WHERE s.{tenant} = m.{tenant}
                  AND s.anchor_id = m.anchor_id AND s.closed_at IS NOT NULL
                  AND s.scope_id = coalesce(m.interaction_id, m.session_id)) THEN 'ORPHANED'
            -- end
            ELSE 'ACTIVE'
        END AS retention_state
    FROM {family}_memory m;
GRANT SELECT ON {family}_memory_retention TO {writers}, {readers};
