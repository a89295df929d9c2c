-- Not Citus: what stands in for it where none can be installed. It moves no row. It knows the names
-- that we call, keeps a record of the calls, and refuses what Citus refuses (by its documentation):
-- triggers without the setting, keys without the distribution column, foreign keys to tables that
-- are not placed yet or lie in another group, a table twice, somebody else's table.

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
    END IF;
END
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
END
$$;

CREATE FUNCTION public.create_reference_table(table_name regclass) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM public.check_placing(table_name);
    INSERT INTO public.pg_dist_partition VALUES (table_name, 'n', NULL, 9999, 't');
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

CREATE FUNCTION public.create_distributed_function(
    function_name regprocedure, distribution_arg_name text DEFAULT NULL,
    colocate_with text DEFAULT 'default', force_delegation boolean DEFAULT NULL
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    argument integer := (SELECT array_position(p.proargnames, distribution_arg_name) - 1
                         FROM pg_proc p WHERE p.oid = function_name);
    beside integer;
BEGIN
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
