-- What the nodes of a Citus cluster have of ours, what they should have, and how it gets there again.

-- query: there
-- Whether this is a cluster, and which of its schemas hold functions of ours. The queue's is the
-- coordinator's alone.
SELECT (SELECT count(*) FROM pg_extension WHERE extname = 'citus'), ARRAY(
    SELECT DISTINCT n.nspname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    JOIN pg_roles r ON r.oid = p.proowner
    WHERE r.rolname LIKE 'idetic\_%' AND n.nspname <> 'idetic_jobs' ORDER BY 1)::text[]

-- query: ask
-- The same question to every node, as text: each answers with one value, or with its error.
SELECT n.nodename || ':' || n.nodeport, n.groupid = 0, a.success, a.result
FROM run_command_on_all_nodes({said}) a JOIN pg_dist_node n USING (nodeid) ORDER BY n.groupid, 1

-- query: here_alone
-- Functions that no other node has to have: Citus was not told of them.
SELECT n.nspname || '.' || p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')'
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = ANY ({schemas}) AND NOT EXISTS (
    SELECT FROM pg_dist_object o WHERE o.classid = 'pg_proc'::regclass AND o.objid = p.oid)

-- query: said
-- What a node has in some schemas: kind, name, aspect, what is so, and on which shard if on one. What is
-- compared is what the catalog means: numbers differ between nodes, and names of shards from their
-- table's. Shards that agree are told once.
WITH ours AS (
    SELECT n.oid, n.nspname, n.nspacl, n.nspowner FROM pg_namespace n WHERE n.nspname = ANY ({schemas})
), placed AS (
    -- The tables that Citus knows, as they stand in the catalog, and the shards that are on this node.
    SELECT p.logicalrelid::oid AS id, p.logicalrelid::oid AS logical, NULL AS shard
    FROM pg_dist_partition p
    UNION ALL
    -- Looked up in the catalog: to_regclass would ask for a right in the schema, and the application's
    -- role has none in those of personas.
    SELECT (SELECT c.oid FROM pg_class c WHERE c.relnamespace = t.relnamespace
            AND c.relname = n.parts[cardinality(n.parts)]), s.logicalrelid::oid, n.said
    FROM pg_dist_shard s JOIN pg_dist_placement l USING (shardid)
    JOIN pg_class t ON t.oid = s.logicalrelid
    CROSS JOIN LATERAL (SELECT shard_name(s.logicalrelid, s.shardid) AS said,
        parse_ident(shard_name(s.logicalrelid, s.shardid)) AS parts) n
    WHERE l.groupid = (SELECT groupid FROM pg_dist_local_group)
), tables AS (
    SELECT p.id, p.shard, o.nspname || '.' || t.relname AS name, c.relowner, c.relacl, c.relrowsecurity,
        c.relforcerowsecurity
    FROM placed p JOIN pg_class t ON t.oid = p.logical JOIN ours o ON o.oid = t.relnamespace
    LEFT JOIN pg_class c ON c.oid = p.id
), functions AS (
    SELECT p.oid AS id, p.*, o.nspname || '.' || p.proname || '('
        || pg_get_function_identity_arguments(p.oid) || ')' AS name
    FROM pg_proc p JOIN ours o ON o.oid = p.pronamespace
), rights AS (
    SELECT r.id, concat_ws(',', w.rolname, string_agg(concat_ws(' ',
        CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE coalesce(g.rolname, 'unknown') END, a.privilege_type,
        a.is_grantable), ',' ORDER BY g.rolname, a.privilege_type)) AS said
    FROM (SELECT oid AS id, nspowner AS owner, coalesce(nspacl, acldefault('n', nspowner)) AS acl FROM ours
          UNION ALL
          SELECT DISTINCT ON (id) id, relowner, coalesce(relacl, acldefault('r', relowner)) FROM tables
          UNION ALL
          SELECT id, proowner, coalesce(proacl, acldefault('f', proowner)) FROM functions) r
    CROSS JOIN LATERAL aclexplode(r.acl) a
    LEFT JOIN pg_roles g ON g.oid = a.grantee LEFT JOIN pg_roles w ON w.oid = r.owner
    GROUP BY r.id, w.rolname
), said (kind, name, aspect, so, shard) AS (
    -- With a type, or the names of the next part would cut all others to their length.
    SELECT 'server', 'PostgreSQL'::text, 'version', split_part(current_setting('server_version'), '.', 1),
        NULL
    UNION ALL
    SELECT 'extension', e.extname, 'version', e.extversion, NULL FROM pg_extension e
    WHERE e.extname IN ('citus', 'vector', 'pg_trgm', 'btree_gist')
    UNION ALL
    SELECT 'role', r.rolname, a.aspect, a.so, NULL FROM pg_roles r CROSS JOIN LATERAL (VALUES
        ('attributes', concat_ws(' ', CASE WHEN r.rolsuper THEN 'SUPERUSER' ELSE 'NOSUPERUSER' END,
            CASE WHEN r.rolbypassrls THEN 'BYPASSRLS' ELSE 'NOBYPASSRLS' END,
            CASE WHEN r.rolcanlogin THEN 'LOGIN' ELSE 'NOLOGIN' END)),
        ('memberships', (SELECT string_agg(g.rolname, ', ' ORDER BY g.rolname)
            FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid WHERE m.member = r.oid))
    ) a (aspect, so)
    WHERE r.rolname LIKE 'idetic\_%'
    UNION ALL
    SELECT 'schema', o.nspname, 'grants', r.said, NULL FROM ours o LEFT JOIN rights r ON r.id = o.oid
    UNION ALL
    SELECT 'type', o.nspname || '.' || t.typname, 'definition', concat_ws('|',
        (SELECT string_agg(e.enumlabel, ',' ORDER BY e.enumsortorder) FROM pg_enum e
         WHERE e.enumtypid = t.oid),
        (SELECT string_agg(c.said, ',' ORDER BY c.said) FROM (SELECT pg_get_constraintdef(k.oid) AS said
         FROM pg_constraint k WHERE k.contypid = t.oid) c)), NULL
    FROM pg_type t JOIN ours o ON o.oid = t.typnamespace WHERE t.typtype IN ('e', 'd')
    UNION ALL
    SELECT 'function', f.name, a.aspect, a.so, NULL FROM functions f
    JOIN pg_language l ON l.oid = f.prolang LEFT JOIN rights r ON r.id = f.id
    CROSS JOIN LATERAL (VALUES
        ('definition', concat_ws('|', f.prosrc, l.lanname, f.prosecdef, f.provolatile, f.proisstrict,
            f.proparallel, f.proconfig, pg_get_function_result(f.id))),
        ('grants', replace(r.said, ',PUBLIC EXECUTE f', '')),
        ('public', CASE WHEN r.said LIKE '%PUBLIC EXECUTE%' THEN 'open' ELSE 'closed' END)
    ) a (aspect, so)
    UNION ALL
    SELECT 'table', t.name, a.aspect, a.so, min(t.shard) FROM tables t LEFT JOIN rights r ON r.id = t.id
    CROSS JOIN LATERAL (VALUES
        ('presence', CASE WHEN t.relowner IS NULL THEN 'missing' ELSE 'there' END),
        ('grants', r.said),
        ('security', concat_ws(', ',
            CASE WHEN t.relrowsecurity THEN 'ENABLE ROW LEVEL SECURITY' ELSE 'DISABLE ROW LEVEL SECURITY' END,
            CASE WHEN t.relforcerowsecurity THEN 'FORCE ROW LEVEL SECURITY' ELSE 'NO FORCE ROW LEVEL SECURITY' END)),
        ('policies', (SELECT string_agg(concat_ws(' ', p.polname, p.polcmd, p.polpermissive,
            (SELECT string_agg(g.rolname, ',' ORDER BY g.rolname) FROM pg_roles g
             WHERE g.oid = ANY (p.polroles)),
            pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)), ';'
            ORDER BY p.polname) FROM pg_policy p WHERE p.polrelid = t.id)),
        ('triggers', (SELECT string_agg(g.said, ';' ORDER BY g.said) FROM (
            SELECT concat_ws(' ', g.tgtype, g.tgenabled, f.name, encode(g.tgargs, 'escape')) AS said
            FROM pg_trigger g JOIN functions f ON f.id = g.tgfoid
            WHERE g.tgrelid = t.id AND NOT g.tgisinternal) g)),
        ('columns', (SELECT string_agg(concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod),
            a.attnotnull, pg_get_expr(d.adbin, d.adrelid)), ',' ORDER BY a.attname)
            FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
            WHERE a.attrelid = t.id AND a.attnum > 0 AND NOT a.attisdropped)),
        ('constraints', (SELECT string_agg(c.said, ',' ORDER BY c.said) FROM (
            SELECT regexp_replace(pg_get_constraintdef(k.oid), '_\d{{6,}}\(', '(') AS said
            FROM pg_constraint k WHERE k.conrelid = t.id AND k.contype IN ('c', 'f', 'p', 'u')) c)),
        ('indexes', (SELECT string_agg(x.said, ',' ORDER BY x.said) FROM (
            SELECT i.indisunique || substring(pg_get_indexdef(i.indexrelid) FROM ' USING .*') AS said
            FROM pg_index i WHERE i.indrelid = t.id) x))
    ) a (aspect, so)
    GROUP BY t.name, a.aspect, a.so, t.shard IS NULL
)
SELECT jsonb_agg(jsonb_build_array(kind, name, aspect,
    CASE WHEN length(so) > 120 THEN md5(so) ELSE coalesce(so, '') END, shard) ORDER BY kind, name, aspect)
FROM said

-- query: role
-- A role as the coordinator has it, said to every node again: which aspect, and how.
SELECT 'attributes', format('ALTER ROLE %I %s %s', r.rolname,
    CASE WHEN r.rolcanlogin THEN 'LOGIN' ELSE 'NOLOGIN' END,
    CASE WHEN r.rolbypassrls THEN 'BYPASSRLS' ELSE 'NOBYPASSRLS' END)
FROM pg_roles r WHERE r.rolname = {name}
UNION ALL
SELECT 'memberships', format('GRANT %I TO %I', g.rolname, r.rolname) FROM pg_roles r
JOIN pg_auth_members m ON m.member = r.oid JOIN pg_roles g ON g.oid = m.roleid
WHERE r.rolname = {name}

-- query: schema
-- Who may what in a schema.
SELECT 'grants', format('GRANT %s ON SCHEMA %I TO %I', a.privilege_type, n.nspname, g.rolname)
FROM pg_namespace n CROSS JOIN LATERAL aclexplode(n.nspacl) a JOIN pg_roles g ON g.oid = a.grantee
WHERE n.nspname = {name}

-- query: function
-- A function, its owner and its callers.
SELECT s.* FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
JOIN pg_roles r ON r.oid = p.proowner CROSS JOIN LATERAL (VALUES
    ('definition', CASE WHEN p.prokind = 'f' THEN pg_get_functiondef(p.oid) END),
    ('grants', format('ALTER ROUTINE %s OWNER TO %I', p.oid::regprocedure, r.rolname)),
    ('public', format('REVOKE ALL ON ROUTINE %s FROM PUBLIC', p.oid::regprocedure)),
    ('grants', (SELECT format('GRANT EXECUTE ON ROUTINE %s TO %s', p.oid::regprocedure,
        string_agg(quote_ident(g.rolname), ', ' ORDER BY g.rolname))
     FROM aclexplode(p.proacl) a JOIN pg_roles g ON g.oid = a.grantee))
) s (aspect, statement)
WHERE s.statement IS NOT NULL
  AND n.nspname || '.' || p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')' = {name}

-- query: table
-- What guards a table: its owner, grants, row-level security, policies, triggers.
WITH mine AS (
    SELECT c.*, format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname || '.' || c.relname = {name}
)
SELECT 'grants', format('ALTER TABLE %s OWNER TO %I', m.name, r.rolname)
FROM mine m JOIN pg_roles r ON r.oid = m.relowner
UNION ALL
SELECT 'grants', format('GRANT %s ON TABLE %s TO %I', a.privilege_type, m.name, g.rolname)
FROM mine m CROSS JOIN LATERAL aclexplode(m.relacl) a JOIN pg_roles g ON g.oid = a.grantee
UNION ALL
SELECT 'security', format('ALTER TABLE %s %s ROW LEVEL SECURITY', m.name, v.verb)
FROM mine m CROSS JOIN LATERAL (VALUES
    (CASE WHEN m.relrowsecurity THEN 'ENABLE' ELSE 'DISABLE' END),
    (CASE WHEN m.relforcerowsecurity THEN 'FORCE' ELSE 'NO FORCE' END)) v (verb)
UNION ALL
SELECT 'policies', unnest(ARRAY[format('DROP POLICY IF EXISTS %I ON %s', p.polname, m.name),
    concat_ws(' ', format('CREATE POLICY %I ON %s AS %s FOR %s TO %s', p.polname, m.name,
        CASE WHEN p.polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END,
        CASE p.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE'
            WHEN 'd' THEN 'DELETE' ELSE 'ALL' END,
        coalesce((SELECT string_agg(quote_ident(g.rolname), ', ') FROM pg_roles g
                  WHERE g.oid = ANY (p.polroles)), 'PUBLIC')),
        'USING (' || pg_get_expr(p.polqual, p.polrelid) || ')',
        'WITH CHECK (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')')])
FROM mine m JOIN pg_policy p ON p.polrelid = m.oid
UNION ALL
SELECT 'triggers', unnest(ARRAY[
    format('DROP TRIGGER IF EXISTS %I ON %s', t.tgname, m.name), pg_get_triggerdef(t.oid)])
FROM mine m JOIN pg_trigger t ON t.tgrelid = m.oid WHERE NOT t.tgisinternal
