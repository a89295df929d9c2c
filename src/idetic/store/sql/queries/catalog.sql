-- What the server's catalogs tell any role: how large a table is, how many rows it has, how often it
-- was written to, who holds a lock, who is connected. With it the Actor could infer that the
-- Subconscious remembers something.

-- query: telling
-- The functions that tell it, and are open to everybody.
SELECT p.oid::regprocedure::text FROM pg_catalog.pg_proc p
WHERE p.pronamespace = 'pg_catalog'::regnamespace
  AND (p.proname ~ '^pg_stat_get_(?!backend_pid$|snapshot_timestamp$)'
       OR p.proname IN ('pg_relation_size', 'pg_table_size', 'pg_indexes_size', 'pg_lock_status',
                        'pg_total_relation_size', 'pg_database_size', 'pg_tablespace_size',
                        'pg_current_wal_lsn', 'pg_current_wal_insert_lsn',
                        'pg_current_wal_flush_lsn', 'pg_prepared_xact', 'pg_get_wal_stats'))
  AND EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
              WHERE a.grantee = 0 AND a.privilege_type = 'EXECUTE')
ORDER BY 1

-- query: shown
-- The columns of pg_class that say how large a table is, where everybody may read them; and those
-- that say anything else.
SELECT coalesce(array_agg(quote_ident(a.attname)) FILTER (WHERE a.attname IN (
           'relpages', 'reltuples', 'relallvisible', 'relallfrozen')
           AND has_column_privilege('idetic_actor', 'pg_catalog.pg_class', a.attname, 'SELECT')), '{}'),
       array_agg(quote_ident(a.attname)) FILTER (WHERE a.attname NOT IN (
           'relpages', 'reltuples', 'relallvisible', 'relallfrozen'))
FROM pg_catalog.pg_attribute a
WHERE a.attrelid = 'pg_catalog.pg_class'::regclass AND a.attnum > 0 AND NOT a.attisdropped
