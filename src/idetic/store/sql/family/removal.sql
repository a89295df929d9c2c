-- object: trigger {table_name}.removal
-- Rows stay, for the owner too; those that belong to a transient entry go with its scope.
CREATE OR REPLACE TRIGGER append_only_delete BEFORE DELETE ON {table}
    FOR EACH ROW EXECUTE FUNCTION {refuse_delete}();
CREATE OR REPLACE TRIGGER append_only_truncate BEFORE TRUNCATE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION idetic.refuse_change_v1();
