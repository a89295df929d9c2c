-- Not Citus: what stands in for it where none can be installed. It moves no row. It knows the names
-- that we call, keeps a record of the calls, and refuses what a real cluster (15.0devel) refused:
--
--   when a table is placed: triggers without the setting or that its owner may not execute, keys
--     without the distribution column, foreign keys to tables that are not placed yet or lie in
--     another group, a table twice, somebody else's table;
--   when a function is distributed: one in SQL that touches distributed tables, INSERT ... SELECT FROM
--     unnest, INSERT ... VALUES (row.*), a forced generic plan;
--   when a statement reaches a distributed table, as any role of ours but the one that sweeps over all
--     tenants: without the tenant, through a function that is not distributed, with a SET LOCAL in the
--     same message, under a forced generic plan, INSERT ... SELECT FROM unnest;
--   ON CONFLICT into a reference table, by somebody who may not update it;
--   DDL under SET ROLE.
--
-- Not refused, because a plain server offers no hook for it: roles that the workers do not have yet,
-- joins of distributed with local tables, casts in CASE that are not immutable, LATERAL calls, moves of
-- shards under row-level security, definer functions that write where another role has written, and
-- whatever a statement inside a function does. Statements are judged by their text, functions by
-- theirs; the planner is not asked. Where a SELECT finds its table's policies satisfied without asking
-- ours (a superuser, an owner above row-level security), it is not judged.
--
-- Its workers are copies of the database, made after it is distributed, and a table is its own shard
-- there. Nothing is handed on to them.

INSERT INTO pg_catalog.pg_extension
    (oid, extname, extowner, extnamespace, extrelocatable, extversion, extconfig, extcondition)
SELECT max(oid)::bigint + 1, 'citus', 10, 'pg_catalog'::regnamespace, false, 'stand-in', NULL, NULL
FROM pg_catalog.pg_extension;

CREATE TABLE public.pg_dist_partition (
    logicalrelid regclass PRIMARY KEY,
    partmethod "char" NOT NULL,
    partkey text,
    colocationid integer NOT NULL,
    repmodel "char" NOT NULL,
    nth integer GENERATED ALWAYS AS IDENTITY
);
GRANT SELECT ON public.pg_dist_partition TO PUBLIC;

-- Where a worker is reached: the database that plays it.
CREATE TABLE public.pg_dist_node (
    nodeid integer PRIMARY KEY,
    groupid integer NOT NULL,
    nodename text NOT NULL,
    nodeport integer NOT NULL,
    conninfo text
);
CREATE TABLE public.pg_dist_local_group (groupid integer NOT NULL);
INSERT INTO public.pg_dist_local_group VALUES (0);
CREATE TABLE public.pg_dist_shard (
    logicalrelid regclass NOT NULL,
    shardid bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (START 102008)
);
CREATE TABLE public.pg_dist_placement (shardid bigint NOT NULL, groupid integer NOT NULL);
GRANT SELECT ON public.pg_dist_node, public.pg_dist_local_group, public.pg_dist_shard,
    public.pg_dist_placement TO PUBLIC;

CREATE FUNCTION public.shard_name(table_name regclass, shard_id bigint) RETURNS text
LANGUAGE sql AS $$
    SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = table_name
$$;

-- A worker sees what it has of roles by a view of its own, since all databases of a server share them.
CREATE SCHEMA stand_in;
GRANT USAGE ON SCHEMA stand_in TO PUBLIC;
CREATE TABLE stand_in.lacking (rolname name PRIMARY KEY);
CREATE TABLE stand_in.unbound (rolname name PRIMARY KEY);
CREATE VIEW stand_in.pg_roles AS
    SELECT r.oid, r.rolname, r.rolsuper, r.rolcanlogin, r.rolinherit,
        r.rolbypassrls OR EXISTS (SELECT FROM stand_in.unbound u WHERE u.rolname = r.rolname) AS rolbypassrls
    FROM pg_catalog.pg_roles r
    WHERE NOT EXISTS (SELECT FROM stand_in.lacking l WHERE l.rolname = r.rolname);

CREATE FUNCTION public.run_command_on_all_nodes(command text)
RETURNS TABLE (nodeid integer, success boolean, result text)
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    node record;
BEGIN
    FOR node IN SELECT * FROM public.pg_dist_node n ORDER BY n.nodeid LOOP
        nodeid := node.nodeid;
        BEGIN
            IF node.groupid = 0 THEN
                EXECUTE command INTO result;
            ELSE
                SELECT r.said INTO result FROM public.dblink(node.conninfo, command) AS r (said text);
            END IF;
            success := true;
        EXCEPTION WHEN OTHERS THEN
            success := false;
            result := SQLERRM;
        END;
        RETURN NEXT;
    END LOOP;
END
$$;

-- What a statement must not be that reaches a distributed table. It stands in a policy of each, so it
-- is asked once there is a row to look at.
CREATE FUNCTION public.check_statement(tenant text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
    said text := current_query();
BEGIN
    IF said ~* '\mset\s+local\M' THEN
        RAISE EXCEPTION 'cannot execute a distributed query from a query on a shard';
    ELSIF current_setting('plan_cache_mode') = 'force_generic_plan' THEN
        RAISE EXCEPTION 'could not create distributed plan';
    ELSIF said ~* '\minsert\s+into\M.*\mselect\M.*\mfrom\s+unnest\M' THEN
        RAISE EXCEPTION 'INSERT ... SELECT FROM unnest is not supported under row-level security';
    ELSIF current_user = 'idetic_worker' OR said ~* ('\m(' || tenant || '|tenant)\M["]?\s*(=|,)') THEN
        RETURN true;
    ELSIF EXISTS (SELECT FROM public.pg_dist_object o JOIN pg_proc p ON p.oid = o.objid
                  WHERE o.distribution_argument_index IS NOT NULL AND strpos(said, p.proname) > 0) THEN
        RETURN true;
    END IF;
    RAISE EXCEPTION 'queries must filter by the distribution argument';
END
$$;

CREATE FUNCTION public.check_upsert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_query() ~* '\mon\s+conflict\M' AND NOT has_table_privilege(TG_RELID, 'UPDATE') THEN
        RAISE EXCEPTION 'permission denied for table %', TG_TABLE_NAME USING ERRCODE = '42501';
    END IF;
    RETURN NULL;
END
$$;

-- Citus has a connection to each node for each role: what one makes another does not see.
CREATE FUNCTION public.check_ddl() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_user <> session_user THEN
        RAISE EXCEPTION '% as % after SET ROLE: the objects of this transaction do not exist there',
            TG_TAG, current_user;
    END IF;
END
$$;
CREATE EVENT TRIGGER check_ddl ON ddl_command_start EXECUTE FUNCTION public.check_ddl();

CREATE FUNCTION public.column_to_column_name(table_name regclass, column_var_text text) RETURNS text
LANGUAGE sql STRICT AS $$ SELECT column_var_text $$;

CREATE FUNCTION public.check_placing(t regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF NOT pg_has_role((SELECT relowner FROM pg_class WHERE oid = t), 'USAGE') THEN
        RAISE EXCEPTION 'must be owner of table %', t USING ERRCODE = '42501';
    ELSIF EXISTS (SELECT FROM public.pg_dist_partition WHERE logicalrelid = t) THEN
        RAISE EXCEPTION 'table "%" is already distributed', t;
    ELSIF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = t AND NOT tgisinternal)
          AND coalesce(current_setting('citus.enable_unsafe_triggers', true), 'off') <> 'on' THEN
        RAISE EXCEPTION 'cannot distribute relation "%" because it has triggers', t;
    ELSIF EXISTS (SELECT FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid
                  WHERE g.tgrelid = t AND NOT g.tgisinternal
                    AND NOT has_function_privilege(c.relowner, g.tgfoid, 'EXECUTE')) THEN
        RAISE EXCEPTION 'permission denied for function of a trigger of "%"', t;
    END IF;
END
$$;

CREATE FUNCTION public.place_shards(t regclass) RETURNS void LANGUAGE sql AS $$
    WITH made AS (INSERT INTO public.pg_dist_shard (logicalrelid) VALUES (t) RETURNING shardid)
    INSERT INTO public.pg_dist_placement SELECT m.shardid, n.groupid FROM made m, public.pg_dist_node n
    WHERE n.groupid > 0
$$;

CREATE FUNCTION public.create_distributed_table(
    table_name regclass, distribution_column text, distribution_type text DEFAULT 'hash',
    colocate_with text DEFAULT 'default', shard_count integer DEFAULT NULL
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    own integer := (SELECT coalesce(max(colocationid), 0) + 1 FROM public.pg_dist_partition);
    key smallint := (SELECT attnum FROM pg_attribute
        WHERE attrelid = table_name AND attname = distribution_column);
BEGIN
    PERFORM public.check_placing(table_name);
    IF current_setting('citus.multi_shard_modify_mode', true) IS DISTINCT FROM 'sequential' THEN
        RAISE EXCEPTION 'cannot distribute "%" in parallel in this transaction', table_name;
    ELSIF EXISTS (SELECT FROM pg_index i WHERE i.indrelid = table_name AND i.indisunique
                  AND NOT key = ANY (i.indkey::smallint[])) THEN
        RAISE EXCEPTION 'cannot create constraint on "%"', table_name;
    END IF;
    IF colocate_with <> 'none' THEN
        SELECT colocationid INTO STRICT own FROM public.pg_dist_partition
        WHERE logicalrelid = colocate_with::regclass;
    END IF;
    IF EXISTS (SELECT FROM pg_constraint f LEFT JOIN public.pg_dist_partition p
                   ON p.logicalrelid = f.confrelid
               WHERE f.conrelid = table_name AND f.contype = 'f' AND f.confrelid <> table_name
                 AND (p IS NULL OR p.repmodel <> 't' AND p.colocationid <> own)) THEN
        RAISE EXCEPTION 'cannot create foreign key constraint of "%"', table_name;
    END IF;
    INSERT INTO public.pg_dist_partition VALUES (table_name, 'h', distribution_column, own, 's');
    PERFORM public.place_shards(table_name);
    EXECUTE format('DROP POLICY IF EXISTS stand_in ON %s', table_name);
    EXECUTE format('CREATE POLICY stand_in ON %s AS RESTRICTIVE USING (public.check_statement(%L))',
        table_name, distribution_column);
END
$$;

CREATE FUNCTION public.create_reference_table(table_name regclass) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM public.check_placing(table_name);
    INSERT INTO public.pg_dist_partition VALUES (table_name, 'n', NULL, 9999, 't');
    PERFORM public.place_shards(table_name);
    EXECUTE format('CREATE OR REPLACE TRIGGER stand_in BEFORE INSERT ON %s EXECUTE FUNCTION public.check_upsert()',
        table_name);
END
$$;

CREATE TABLE public.pg_dist_object (
    classid oid NOT NULL,
    objid oid NOT NULL,
    distribution_argument_index integer,
    colocationid integer,
    force_delegation boolean,
    PRIMARY KEY (classid, objid)
);
GRANT SELECT ON public.pg_dist_object TO PUBLIC;

CREATE FUNCTION public.check_function(f regprocedure) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    it record;
BEGIN
    SELECT p.prosrc, l.lanname, p.proconfig INTO it FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
    WHERE p.oid = f;
    IF it.lanname = 'sql' AND EXISTS (
        SELECT FROM public.pg_dist_partition d JOIN pg_class c ON c.oid = d.logicalrelid
        WHERE d.partmethod = 'h' AND it.prosrc ~* ('(from|join|into|update)\s+("?\w+"?\.)?"?' || c.relname || '\M')) THEN
        RAISE EXCEPTION 'parameterized queries for SQL functions referencing distributed tables are not supported: %', f;
    ELSIF 'plan_cache_mode=force_generic_plan' = ANY (it.proconfig) THEN
        RAISE EXCEPTION 'could not create distributed plan: %', f;
    ELSIF it.prosrc ~* '\minsert\s+into\s+\S+\s+values\s*\(\s*\w+\.\*' THEN
        RAISE EXCEPTION 'queries must filter by the distribution argument: %', f;
    ELSIF it.prosrc ~* '\minsert\s+into\M[^;]*\mselect\M[^;]*\mfrom\s+unnest\M' THEN
        RAISE EXCEPTION 'INSERT ... SELECT FROM unnest is not supported under row-level security: %', f;
    END IF;
END
$$;

CREATE FUNCTION public.create_distributed_function(
    function_name regprocedure, distribution_arg_name text DEFAULT NULL,
    colocate_with text DEFAULT 'default', force_delegation boolean DEFAULT NULL
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    argument integer := (SELECT array_position(p.proargnames, distribution_arg_name) - 1
                         FROM pg_proc p WHERE p.oid = function_name);
    beside integer;
BEGIN
    PERFORM public.check_function(function_name);
    IF distribution_arg_name IS NOT NULL THEN
        IF argument IS NULL THEN
            RAISE EXCEPTION 'cannot distribute the function "%"', function_name;
        END IF;
        SELECT colocationid INTO STRICT beside FROM public.pg_dist_partition
        WHERE logicalrelid = colocate_with::regclass AND partmethod = 'h';
    END IF;
    INSERT INTO public.pg_dist_object
    VALUES ('pg_proc'::regclass, function_name, argument, beside, force_delegation)
    ON CONFLICT (classid, objid) DO UPDATE SET
        distribution_argument_index = EXCLUDED.distribution_argument_index,
        colocationid = EXCLUDED.colocationid, force_delegation = EXCLUDED.force_delegation;
END
$$;
