IF ref.noun = {noun} THEN
    SELECT {pin_select} INTO pin FROM {canonical} c
    WHERE c.{tenant} = {tenant_p} {ref_scope_is} AND c.{canonical_id} = ref.id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'idetic.reference_not_found: no {noun_text} % in this scope', ref.id
            USING ERRCODE = 'ID004';
    END IF;
    INSERT INTO {refs} ({anchor}, ref_id, memory_id, {canonical_id}, {pin_column} {provenance_columns}
        created_at)
    VALUES ({anchor_p}, ref.ref_id, p_memory, ref.id, {pin_value} {provenance_refs} p_at);
END IF;
