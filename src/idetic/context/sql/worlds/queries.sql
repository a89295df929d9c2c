-- query: register
-- One world per (org, domain); asking again gives the one that is there.
INSERT INTO worlds.worlds (org_id, domain_id, world_id, name, created_at)
VALUES (%(org_id)s, %(domain_id)s, %(world_id)s, %(name)s, %(at)s)
ON CONFLICT (org_id, domain_id) DO NOTHING

-- query: registered
SELECT w.world_id FROM worlds.worlds w WHERE w.org_id = %(org_id)s AND w.domain_id = %(domain_id)s

-- query: names
SELECT coalesce(jsonb_object_agg(w.domain_id, w.name), '{}')
FROM worlds.worlds w WHERE w.org_id = %(org_id)s

-- query: put_rule
-- A new rule, or the next version of one: the row that holds now.
INSERT INTO worlds.rules (org_id, rule_id, world_id, version, body_text, source_strength,
                          world_model_version, changed_at)
VALUES (%(org_id)s, %(rule_id)s, %(world_id)s, 1, %(body_text)s, %(strength)s,
        %(world_model_version)s, %(at)s)
ON CONFLICT (org_id, rule_id) DO UPDATE SET version = rules.version + 1,
    body_text = EXCLUDED.body_text, source_strength = EXCLUDED.source_strength,
    world_model_version = EXCLUDED.world_model_version, changed_at = EXCLUDED.changed_at

-- query: keep_rule
-- The version that a reference can pin, written together with it.
INSERT INTO worlds.rule_versions (org_id, rule_id, version, body_text, source_strength,
                                  world_model_version, created_at)
SELECT r.org_id, r.rule_id, r.version, r.body_text, r.source_strength, r.world_model_version,
       r.changed_at
FROM worlds.rules r WHERE r.org_id = %(org_id)s AND r.rule_id = %(rule_id)s

-- query: rule_version
SELECT r.version FROM worlds.rules r WHERE r.org_id = %(org_id)s AND r.rule_id = %(rule_id)s
