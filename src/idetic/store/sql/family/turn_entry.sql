-- Only the named state columns; what they were is in the link, so that undo can put them back.
UPDATE {memory} m SET
    {turned_columns}
WHERE {anchor_is_p_m} AND m.memory_id = item.memory;
IF NOT FOUND THEN
    RAISE EXCEPTION 'idetic.entry_not_found: no entry % in this scope', item.memory
        USING ERRCODE = 'ID006';
END IF;
