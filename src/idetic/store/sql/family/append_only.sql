-- object: trigger {table_name}.append_only
-- Rows are written once.
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE ON {table}
    FOR EACH ROW EXECUTE FUNCTION {refuse_update}();
