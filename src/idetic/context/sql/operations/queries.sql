-- query: put_runbook
-- A new runbook, or the next version of one: the row that holds now.
INSERT INTO operations.runbooks (operator_id, runbook_id, version, body_text, source_strength,
                                 changed_at)
VALUES (%(operator_id)s, %(runbook_id)s, 1, %(body_text)s, %(strength)s, %(at)s)
ON CONFLICT (operator_id, runbook_id) DO UPDATE SET version = runbooks.version + 1,
    body_text = EXCLUDED.body_text, source_strength = EXCLUDED.source_strength,
    changed_at = EXCLUDED.changed_at

-- query: keep_runbook
-- The version that a reference can pin, written together with it.
INSERT INTO operations.runbook_versions (operator_id, runbook_id, version, body_text,
                                         source_strength, created_at)
SELECT r.operator_id, r.runbook_id, r.version, r.body_text, r.source_strength, r.changed_at
FROM operations.runbooks r WHERE r.operator_id = %(operator_id)s AND r.runbook_id = %(runbook_id)s

-- query: runbook_version
SELECT r.version FROM operations.runbooks r
WHERE r.operator_id = %(operator_id)s AND r.runbook_id = %(runbook_id)s
