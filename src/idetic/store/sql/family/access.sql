-- object: access {table_name}
-- The application layer scopes every statement first; this stands behind it. FORCE binds the
-- owner too. An unset setting matches nothing. Writing needs every anchor key; reading may
-- leave out those that the spec declares nullable for queries, and says so with '*'.
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
REVOKE ALL ON {table} FROM idetic_app, idetic_auditor, PUBLIC;
GRANT SELECT ON {table} TO idetic_app, idetic_auditor;
GRANT {write_grants} ON {table} TO idetic_app;
DROP POLICY IF EXISTS anchor_scope ON {table};
CREATE POLICY anchor_scope ON {table} FOR ALL TO idetic_app
    USING ({policy_using}) WITH CHECK ({policy_check});
DROP POLICY IF EXISTS auditor_scope ON {table};
CREATE POLICY auditor_scope ON {table} FOR SELECT TO idetic_auditor USING ({policy_using});
