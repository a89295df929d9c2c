-- query: made_here
-- What the login owns in some schemas, with the schemas themselves. Row types go with their tables,
-- and sequences with the columns that they count.
WITH ours AS (
    SELECT n.oid, n.nspname, n.nspowner FROM pg_namespace n
    WHERE n.nspname = ANY (%(schemas)s::text[])
), mine AS (
    SELECT current_user::regrole::oid AS id
)
SELECT 'SCHEMA', quote_ident(o.nspname) FROM ours o, mine WHERE o.nspowner = mine.id
UNION ALL
SELECT CASE WHEN c.relkind = 'v' THEN 'VIEW' WHEN c.relkind = 'S' THEN 'SEQUENCE' ELSE 'TABLE' END,
    c.oid::regclass::text
FROM pg_class c JOIN ours o ON o.oid = c.relnamespace, mine
WHERE c.relowner = mine.id AND c.relkind IN ('r', 'p', 'v', 'S') AND NOT EXISTS (
    SELECT FROM pg_depend d WHERE d.objid = c.oid AND c.relkind = 'S' AND d.deptype IN ('a', 'i'))
UNION ALL
SELECT CASE WHEN p.prokind = 'a' THEN 'AGGREGATE' ELSE 'FUNCTION' END, p.oid::regprocedure::text
FROM pg_proc p JOIN ours o ON o.oid = p.pronamespace, mine WHERE p.proowner = mine.id
UNION ALL
SELECT CASE WHEN t.typtype = 'd' THEN 'DOMAIN' ELSE 'TYPE' END, t.oid::regtype::text
FROM pg_type t JOIN ours o ON o.oid = t.typnamespace, mine
WHERE t.typowner = mine.id AND (t.typtype IN ('e', 'd') OR EXISTS (
    SELECT FROM pg_class c WHERE c.oid = t.typrelid AND c.relkind = 'c'))

-- query: open_to_all
-- The functions of some schemas that PUBLIC may execute.
SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = ANY (%(schemas)s::text[]) AND (p.proacl IS NULL OR EXISTS (
    SELECT FROM aclexplode(p.proacl) a WHERE a.grantee = 0))
