-- Where tables go on Citus: what the catalog says about them, and the statements that move them.

-- query: linked
-- Tables that have to go together, and which of them each refers to. A foreign key reaches only the
-- same shard, so everything that one joins to the wanted tables comes along, in either direction;
-- a table that is on every node already ends the walk. Partitions follow their parent.
WITH RECURSIVE keys AS (
    SELECT f.conrelid, f.confrelid FROM pg_constraint f
    WHERE f.contype = 'f' AND f.conparentid = 0
      AND NOT f.conrelid = ANY ({everywhere}) AND NOT f.confrelid = ANY ({everywhere})
), linked (id) AS (
    SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND n.nspname || '.' || c.relname = ANY ({wanted})
    UNION
    SELECT CASE WHEN k.conrelid = l.id THEN k.confrelid ELSE k.conrelid END
    FROM linked l JOIN keys k ON l.id IN (k.conrelid, k.confrelid)
)
SELECT l.id::bigint, n.nspname || '.' || c.relname, format('%I.%I', n.nspname, c.relname),
    ARRAY(SELECT DISTINCT k.confrelid::bigint FROM keys k
          WHERE k.conrelid = l.id AND k.confrelid <> l.id ORDER BY 1)
FROM linked l JOIN pg_class c ON c.oid = l.id JOIN pg_namespace n ON n.oid = c.relnamespace
ORDER BY 2

-- query: tables
-- The tables of some schemas, by name.
SELECT c.oid::bigint, n.nspname || '.' || c.relname FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND n.nspname = ANY ({schemas}) ORDER BY 2

-- query: broken
-- Which table breaks which rule, and by what. One rule a part; what each asks for and how to mend it
-- is said in distribution_rules.py.
WITH mine AS (
    SELECT c.oid AS id, a.attnum AS tenant, a.attnotnull, a.attgenerated,
        format_type(a.atttypid, a.atttypmod) AS type
    FROM pg_class c LEFT JOIN pg_attribute a
        ON a.attrelid = c.oid AND a.attname = {tenant} AND NOT a.attisdropped
    WHERE c.oid = ANY ({ids})
), found (id, rule, about) AS (
    SELECT m.id, 'tenant_column', '' FROM mine m WHERE m.tenant IS NULL
    UNION ALL
    SELECT m.id, 'tenant_type', m.type FROM mine m WHERE m.type <> {type}
    UNION ALL
    SELECT m.id, 'tenant_null', '' FROM mine m WHERE NOT m.attnotnull
    UNION ALL
    SELECT m.id, 'tenant_generated', '' FROM mine m WHERE m.attgenerated <> ''
    UNION ALL
    SELECT m.id, 'primary_key', '' FROM mine m WHERE NOT EXISTS (
        SELECT FROM pg_constraint p WHERE p.conrelid = m.id AND p.contype = 'p')
    UNION ALL
    -- By index and not by constraint: a unique index is a key too.
    SELECT m.id, 'key_lead', x.relname FROM mine m JOIN pg_index i ON i.indrelid = m.id
    JOIN pg_class x ON x.oid = i.indexrelid
    WHERE (i.indisunique OR i.indisexclusion) AND i.indkey[0] <> m.tenant
    UNION ALL
    SELECT m.id, 'foreign_lead', f.conname FROM mine m JOIN pg_constraint f ON f.conrelid = m.id
    JOIN mine other ON other.id = f.confrelid
    WHERE f.contype = 'f' AND other.tenant IS NOT NULL AND (f.conkey[1] <> m.tenant OR f.confkey[1] <> other.tenant)
    UNION ALL
    SELECT m.id, 'foreign_action', f.conname FROM mine m JOIN pg_constraint f ON f.conrelid = m.id
    WHERE f.contype = 'f' AND (f.confdeltype NOT IN ('a', 'r', 'c')
        OR f.confupdtype NOT IN ('a', 'r') OR f.condeferrable)
    UNION ALL
    -- An expression is stored as a tree of nodes; a subquery is this one.
    SELECT m.id, 'policy_subquery', p.polname FROM mine m JOIN pg_policy p ON p.polrelid = m.id
    WHERE concat(p.polqual, p.polwithcheck) LIKE '%{{SUBLINK %'
    UNION ALL
    SELECT m.id, 'trigger_always', t.tgname FROM mine m JOIN pg_trigger t ON t.tgrelid = m.id
    WHERE t.tgenabled = 'A' AND NOT t.tgisinternal
)
SELECT id::bigint, rule, about FROM found ORDER BY 2, 3

-- query: placed
-- What Citus has already: by which column and in which group, or on every node. A table that it keeps
-- on the coordinator for the sake of a foreign key counts as not placed: it can still be.
SELECT p.logicalrelid::oid::bigint,
    CASE WHEN p.partmethod = 'h' THEN 'distributed' WHEN p.repmodel = 't' THEN 'reference'
         ELSE 'other' END,
    column_to_column_name(p.logicalrelid, p.partkey), p.colocationid
FROM pg_dist_partition p
WHERE p.partmethod <> 'n' OR p.repmodel = 't' OR p.colocationid <> 0

-- query: rows
-- Whether a table holds any row. The caller has said that row-level security may hide none.
EXISTS (SELECT FROM {table})

-- query: see_all
-- Rather an error than a table that only looks empty to this login.
SET LOCAL row_security = off

-- query: triggers
-- Our triggers look only at rows of the tenant that is written, which lie on the same shard.
SET LOCAL citus.enable_unsafe_triggers = on

-- query: sequential
-- Tables that refer to each other are made in one transaction over one connection to each node.
SET LOCAL citus.multi_shard_modify_mode = 'sequential'

-- query: distributed
SELECT create_distributed_table({table}, {tenant}, colocate_with => {beside})

-- query: reference
-- Not twice: agents share the registry, and the script of each begins with it.
SELECT create_reference_table({table}) WHERE NOT EXISTS
    (SELECT FROM pg_dist_partition WHERE logicalrelid = {table}::regclass AND repmodel = 't')

-- query: functions
-- The functions of some schemas that no node but this one runs yet, and whether they take the
-- tenant first. What the queue and the keys need runs here alone, where their tables are.
SELECT p.oid::regprocedure::text, n.nspname, coalesce(p.proargnames[1] = 'p_tenant', false)
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = ANY ({schemas}) AND p.prokind = 'f'
  AND NOT (n.nspname = 'idetic' AND p.proname = ANY ({here}))
  AND NOT EXISTS (
    SELECT FROM pg_dist_object o WHERE o.classid = 'pg_proc'::regclass AND o.objid = p.oid
      AND (o.distribution_argument_index IS NOT NULL OR p.proargnames[1] IS DISTINCT FROM 'p_tenant'))
ORDER BY p.prorettype <> 'trigger'::regtype, 3, 1

-- query: delegated
-- A call goes to the node that has the tenant's rows, whoever makes it: there everything that it does
-- is local, with its owner's rights, under locks that all other callers meet.
SELECT create_distributed_function({function}, 'p_tenant', colocate_with => {beside},
    force_delegation => true)

-- query: everywhere
-- What triggers and other functions call is on every node.
SELECT create_distributed_function({function})

-- query: acting
-- The roles that go to the workers under their own names and cannot yet: those that statements run
-- as, and the owner, as whom Citus moves shards. Under row-level security it could not copy them.
SELECT format('ALTER ROLE %I %s', r.rolname,
    CASE WHEN r.rolname = 'idetic_owner' THEN 'LOGIN BYPASSRLS' ELSE 'LOGIN' END)
FROM pg_roles r
WHERE r.rolname = ANY ({roles})
  AND NOT (r.rolcanlogin AND (r.rolbypassrls OR r.rolname <> 'idetic_owner'))
ORDER BY 1
