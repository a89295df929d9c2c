IF NOT coalesce({anchor_is_bound}, false) THEN
    RAISE EXCEPTION 'idetic.entry_not_found: this anchor is not bound' USING ERRCODE = 'ID006';
END IF;
PERFORM pg_advisory_xact_lock({lock_key});
SELECT a.* INTO stands FROM {anchors} a WHERE {anchor_is_p_a};
IF NOT FOUND OR stands.position <> 0 THEN
    RAISE EXCEPTION 'idetic.anchor_taken: this anchor has memory already' USING ERRCODE = 'ID008';
END IF;
