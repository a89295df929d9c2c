-- A schema as rows; `schema_lines.py` makes lines of them.

-- query: helpers
-- Whether an object is of a schema that is ours to describe, and no extension's.
CREATE FUNCTION pg_temp.ours(p_schema oid, p_catalog oid, p_object oid) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = p_catalog
                       AND d.objid = p_object AND d.deptype = 'e')
       AND EXISTS (SELECT FROM pg_namespace n WHERE n.oid = p_schema
                   AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema')
$$;
-- Who may do what, in an order of its own.
CREATE FUNCTION pg_temp.acl(p_acl aclitem[]) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT string_agg(line, ' ' ORDER BY line) FROM (
        SELECT concat_ws(':', CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END,
                         a.privilege_type, a.is_grantable) AS line
        FROM aclexplode(p_acl) a) AS lines
$$;
CREATE TEMP VIEW relations AS
    SELECT c.*, c.oid AS id, c.oid::regclass::text AS name FROM pg_class c
    WHERE pg_temp.ours(c.relnamespace, 'pg_class'::regclass, c.oid)
      AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'c');

-- query: schema
-- The schema public is the server's own.
SELECT n.nspname, n.nspowner::regrole,
    pg_temp.acl(coalesce(n.nspacl, acldefault('n', n.nspowner)))
FROM pg_namespace n
WHERE pg_temp.ours(n.oid, 'pg_namespace'::regclass, n.oid) AND n.nspname <> 'public'

-- query: relation
SELECT c.name, c.relkind, c.relowner::regrole, c.relrowsecurity, c.relforcerowsecurity, c.reloptions,
    pg_temp.acl(coalesce(c.relacl, acldefault('r', c.relowner))),
    CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.id) END
FROM pg_temp.relations c

-- query: column
-- By its rank: the number of a column counts those that were dropped before it, too.
SELECT c.name, row_number() OVER (PARTITION BY c.id ORDER BY a.attnum), a.attname,
    format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated, a.attidentity,
    a.attcollation::regcollation, pg_get_expr(f.adbin, f.adrelid), pg_temp.acl(a.attacl)
FROM pg_temp.relations c
JOIN pg_attribute a ON a.attrelid = c.id AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef f ON f.adrelid = c.id AND f.adnum = a.attnum

-- query: constraint
-- That a column is not null is said with the column; only newer servers have a constraint for it.
SELECT coalesce(k.conrelid::regclass::text, ''), k.contypid::regtype, k.conname,
    pg_get_constraintdef(k.oid), k.convalidated
FROM pg_constraint k
WHERE pg_temp.ours(k.connamespace, 'pg_constraint'::regclass, k.oid) AND k.contype <> 'n'

-- query: index
SELECT c.name, pg_get_indexdef(i.indexrelid), i.indisvalid
FROM pg_temp.relations c JOIN pg_index i ON i.indrelid = c.id

-- query: function
SELECT p.oid::regprocedure, p.proowner::regrole,
    pg_temp.acl(coalesce(p.proacl, acldefault('f', p.proowner))),
    CASE WHEN p.prokind = 'a' THEN 'aggregate' ELSE pg_get_functiondef(p.oid) END
FROM pg_proc p WHERE pg_temp.ours(p.pronamespace, 'pg_proc'::regclass, p.oid)

-- query: trigger
SELECT c.name, t.tgname, t.tgenabled, pg_get_triggerdef(t.oid)
FROM pg_temp.relations c JOIN pg_trigger t ON t.tgrelid = c.id AND NOT t.tgisinternal

-- query: policy
SELECT c.name, p.polname, p.polcmd, p.polpermissive,
    ARRAY(SELECT r::regrole::text FROM unnest(p.polroles) r ORDER BY 1),
    pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)
FROM pg_temp.relations c JOIN pg_policy p ON p.polrelid = c.id

-- query: type
SELECT t.oid::regtype, t.typtype, t.typowner::regrole, t.typnotnull,
    format_type(t.typbasetype, t.typtypmod),
    pg_temp.acl(coalesce(t.typacl, acldefault('T', t.typowner))),
    ARRAY(SELECT e.enumlabel FROM pg_enum e WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder)
FROM pg_type t
WHERE pg_temp.ours(t.typnamespace, 'pg_type'::regclass, t.oid) AND t.typtype IN ('e', 'd')
