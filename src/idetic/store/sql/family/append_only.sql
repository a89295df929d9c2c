-- object: trigger {table_name}.append_only
-- Rows are written once. Some go with the close of their scope or an erasure, which say so with
-- a setting local to their transaction; nothing else removes them.
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE ON {table}
    FOR EACH ROW EXECUTE FUNCTION idetic.refuse_change_v1();
CREATE OR REPLACE TRIGGER append_only_delete BEFORE DELETE ON {table}
    FOR EACH ROW EXECUTE FUNCTION idetic.{refuse_delete}();
CREATE OR REPLACE TRIGGER append_only_truncate BEFORE TRUNCATE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION idetic.refuse_change_v1();
