IF hit IS NULL THEN
    SELECT {noun} AS noun, s.* INTO hit FROM {shadow}({tenant_p}, {shadow_scope_root} item ->> 'body') s;
END IF;
