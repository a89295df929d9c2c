-- Where Citus is, every node has to have our roles. Citus hands on the ones that are made in a
-- database of its own; one that was made in another database of this server stays here, and the
-- first grant to it fails on a worker ('role "idetic_app" does not exist'). What a distributed
-- function depends on is made on every node, with its memberships: so one that all of them may
-- execute takes them along, and goes again.
DO $$
DECLARE
    unknown text;
BEGIN
    IF to_regclass('pg_dist_object') IS NULL THEN
        RETURN;
    END IF;
    SELECT string_agg(quote_ident(r.rolname), ', ') INTO unknown FROM pg_roles r
    WHERE r.rolname LIKE 'idetic\_%' AND NOT EXISTS (
        SELECT FROM pg_dist_object o
        WHERE o.classid = 'pg_authid'::regclass AND o.objid = r.oid);
    IF unknown IS NOT NULL THEN
        CREATE SCHEMA IF NOT EXISTS idetic;
        CREATE FUNCTION idetic.roles_v1() RETURNS void LANGUAGE sql AS '';
        EXECUTE format('GRANT EXECUTE ON FUNCTION idetic.roles_v1 TO %s', unknown);
        PERFORM create_distributed_function('idetic.roles_v1()');
        DROP FUNCTION idetic.roles_v1();
    END IF;
END
$$;
