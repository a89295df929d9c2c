-- query: register
-- One world per (org, domain); asking again gives the one that is there.
INSERT INTO worlds.worlds (org_id, domain_id, world_id, name, created_at)
VALUES ({org_id}, {domain_id}, {world_id}, {name}, {at})
ON CONFLICT (org_id, domain_id) DO NOTHING;
SELECT w.world_id FROM worlds.worlds w WHERE w.org_id = {org_id} AND w.domain_id = {domain_id}

-- query: put_rule
-- A new rule, or the next version of one. The row that holds now and the version that a
-- reference can pin are written together.
INSERT INTO worlds.rules (org_id, rule_id, world_id, version, body_text, source_strength,
                          world_model_version, changed_at)
VALUES ({org_id}, {rule_id}, {world_id}, 1, {body_text}, {strength}, {world_model_version}, {at})
ON CONFLICT (org_id, rule_id) DO UPDATE SET version = rules.version + 1,
    body_text = EXCLUDED.body_text, source_strength = EXCLUDED.source_strength,
    world_model_version = EXCLUDED.world_model_version, changed_at = EXCLUDED.changed_at;
INSERT INTO worlds.rule_versions (org_id, rule_id, version, body_text, source_strength,
                                  world_model_version, created_at)
SELECT r.org_id, r.rule_id, r.version, r.body_text, r.source_strength, r.world_model_version,
       r.changed_at
FROM worlds.rules r WHERE r.org_id = {org_id} AND r.rule_id = {rule_id};
SELECT r.version FROM worlds.rules r WHERE r.org_id = {org_id} AND r.rule_id = {rule_id}
