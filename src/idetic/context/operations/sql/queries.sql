-- query: put_runbook
-- A new runbook, or the next version of one.
INSERT INTO operations.runbooks (operator_id, runbook_id, version, body_text, source_strength,
                                 changed_at)
VALUES ({operator_id}, {runbook_id}, 1, {body_text}, {strength}, {at})
ON CONFLICT (operator_id, runbook_id) DO UPDATE SET version = runbooks.version + 1,
    body_text = EXCLUDED.body_text, source_strength = EXCLUDED.source_strength,
    changed_at = EXCLUDED.changed_at;
INSERT INTO operations.runbook_versions (operator_id, runbook_id, version, body_text,
                                         source_strength, created_at)
SELECT r.operator_id, r.runbook_id, r.version, r.body_text, r.source_strength, r.changed_at
FROM operations.runbooks r WHERE r.operator_id = {operator_id} AND r.runbook_id = {runbook_id};
SELECT r.version FROM operations.runbooks r
WHERE r.operator_id = {operator_id} AND r.runbook_id = {runbook_id}
