-- object: view {family}_memory_current
-- What the agent knows now. Everything else stays in the table and in the ledger.
DROP VIEW IF EXISTS {v_current};
CREATE VIEW {v_current} WITH (security_invoker = true) AS
    SELECT m.* FROM {memory} m
    WHERE m.archived_at IS NULL AND m.superseded_at IS NULL AND m.invalidated_at IS NULL
      AND m.deleted_at IS NULL;
-- Part of the definition: m.* is expanded when the view is made, so a new column needs it anew.
COMMENT ON VIEW {v_current} IS {provenance_text};
GRANT SELECT ON {v_current} TO idetic_app, idetic_auditor;

-- object: view {family}_memory_retention
-- The four retention states, derived from the reference graph and never stored. REFERENCED is what
-- an action rests on, and a transient entry that a contradiction kept when its scope closed.
-- ORPHANED is a transient entry that should have gone with its scope: an alert, not a clean-up.
DROP VIEW IF EXISTS {v_retention};
CREATE VIEW {v_retention} WITH (security_invoker = true) AS
    SELECT {anchor_of_m}, m.memory_id, m.tier, m.typology,
        CASE
            WHEN m.deleted_at IS NOT NULL THEN 'TOMBSTONED'
            WHEN EXISTS (SELECT FROM {actions} a
                         WHERE {anchor_m_is_a} AND a.memory_id = m.memory_id)
                {contradicted} THEN 'REFERENCED'
            WHEN {goes_with_scope} AND EXISTS (
                SELECT FROM {scopes} s
                WHERE {anchor_m_is_s} AND s.closed_at IS NOT NULL
                  AND s.scope_id = coalesce(m.interaction_id, m.session_id)) THEN 'ORPHANED'
            ELSE 'ACTIVE'
        END AS retention_state
    FROM {memory} m;
GRANT SELECT ON {v_retention} TO idetic_app, idetic_auditor;
