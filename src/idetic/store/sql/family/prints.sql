-- object: table {family}_{noun}_prints
-- Where a run of words occurs among canonical rows: hints that tell in a few look-ups by key, for
-- any number of rows, whether a note could hold a part of one. A trigram index cannot: asked
-- for the parts of a note it read most of its pages (68 ms for 180 characters and 30,000 rules).
-- Hashes, never words; a row is always read again before anything is refused, so a hint that is
-- out of date costs a look and no more. They are only added to.
CREATE TABLE {prints_table} (
    {tenant_def},
    print bigint NOT NULL,
    {canonical_id} uuid NOT NULL,
    CONSTRAINT {c_prints_pkey} PRIMARY KEY ({tenant}, print, {canonical_id})
);

-- object: access {family}_{noun}_prints for the guard
GRANT SELECT, INSERT ON {prints_table} TO idetic_guard;
DROP POLICY IF EXISTS guard_prints ON {prints_table};
CREATE POLICY guard_prints ON {prints_table} FOR ALL TO idetic_guard USING (true) WITH CHECK (true);

-- object: function {family}_{noun}_print_v1
-- as: guard
-- Print a canonical row as it is written. One statement a print: on Citus a set is refused here.
CREATE OR REPLACE FUNCTION {print_row}() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    made bigint;
BEGIN
    FOREACH made IN ARRAY {prints}({spelled}(NEW.{canonical_body}), {print_scope_new}) LOOP
        INSERT INTO {prints_table} ({tenant}, print, {canonical_id})
        VALUES (NEW.{tenant}, made, NEW.{canonical_id}) ON CONFLICT DO NOTHING;
    END LOOP;
    RETURN NULL;
END
$$;
REVOKE EXECUTE ON FUNCTION {print_row} FROM PUBLIC;

-- object: trigger {canonical_name}.{family}_print
-- as: admin
CREATE OR REPLACE TRIGGER {t_print} AFTER INSERT OR UPDATE OF {print_columns} ON {canonical}
    FOR EACH ROW EXECUTE FUNCTION {print_row}();

-- object: prints {family}_{noun}
-- as: guard
-- Of the rows that were there before the trigger.
INSERT INTO {prints_table} ({tenant}, print, {canonical_id})
SELECT c.{tenant}, p.print, c.{canonical_id}
FROM {canonical} c, unnest({prints}({spelled}(c.{canonical_body}), {print_scope_c})) AS p(print)
ON CONFLICT DO NOTHING;
