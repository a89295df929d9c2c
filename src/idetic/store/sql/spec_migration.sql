-- What `idetic spec migrate` does to the family that memory leaves, in the templates' language.

-- object: close
-- From now on nobody writes here, whoever they are: what is moved and what stays must be the same.
CREATE OR REPLACE FUNCTION {family}_closed_v1() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'idetic.memory_moved: the memory in {family_text} is moved to another family'
        USING ERRCODE = 'ID009';
END
$$;
-- for each moved:
CREATE OR REPLACE TRIGGER closed BEFORE INSERT OR UPDATE OR DELETE ON {table}
    FOR EACH ROW EXECUTE FUNCTION {family}_closed_v1();
-- end

-- object: leave
-- Once memory has moved, the old rows are history. Only an erasure still reaches them: whoever wants
-- to be forgotten is forgotten here too. What else may change or remove a row, its own triggers say.
CREATE OR REPLACE FUNCTION {family}_closed_v1() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        RETURN NEW;
    ELSIF TG_OP = 'DELETE' THEN
        RETURN OLD;
    ELSIF to_jsonb(NEW) ->> 'transition' IN ('erased', 'reads_erased', 'erasure')
        OR to_jsonb(NEW) ? 'idempotency_key' THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'idetic.memory_moved: the memory in {family_text} has moved to another family'
        USING ERRCODE = 'ID009';
END
$$;

-- object: open
-- for each moved:
DROP TRIGGER IF EXISTS closed ON {table};
-- end
DROP FUNCTION IF EXISTS {family}_closed_v1();

-- object: anchors
-- The anchors that have memory, over all tenants: their keys, and where their chains end.
SELECT a.position, {log_end}, {keys} FROM {family}_memory_anchors a
WHERE a.position > 0 OR {log_end} > 0 ORDER BY a.{tenant}, a.anchor_id
