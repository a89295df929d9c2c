-- query: suspect
-- A first look, which may find too much and never too little: a text of ASCII alone names the
-- subject only if it holds one of these runs, and any other text is looked at outside.
({text} ~ '[^\x01-\x7f]' OR {text} ILIKE ANY ({runs}::text[]))

-- query: mentioned
-- Entries in every tier and state that may name the subject. One without a salt is empty.
SELECT m.memory_id, m.body_text, m.envelope, m.claim_subject, m.claim_attribute, m.claim_value
FROM {memory} m WHERE {scope_m} AND m.digest_salt IS NOT NULL AND {suspect}

-- query: entry_text
concat_ws(' ', m.body_text, m.envelope::text, m.claim_subject, m.claim_attribute, m.claim_value)

-- query: derived
-- What was made of some entries, and of that, and so on. What only said the same again was not
-- made of it. Empty ones have nothing left to lose.
WITH RECURSIVE made (memory_id) AS (
    SELECT l.memory_id FROM {lineage} l
    WHERE {scope_l} AND l.source_id = ANY ({ids}) AND l.relation <> 'recurred'
    UNION
    SELECT l.memory_id FROM made JOIN {lineage} l
        ON {scope_l} AND l.source_id = made.memory_id AND l.relation <> 'recurred')
SELECT m.memory_id FROM made JOIN {memory} m ON {scope_m} AND m.memory_id = made.memory_id
WHERE m.digest_salt IS NOT NULL

-- query: noted
SELECT m.{row_id}, m.memory_id, m.{column} FROM {table} m WHERE {scope_m} AND {suspect}

-- query: named
-- What a column says, each value once: who acted, and contextual provenance.
SELECT {place}::text, {column_text}::text, m.{column}::text, count(*)
FROM {table} m WHERE {scope_m} AND {suspect} GROUP BY 3

-- query: told
SELECT l.position, l.reason, l.actor, l.detail FROM {ledger} l WHERE {scope_l} AND {suspect}

-- query: told_text
concat_ws(' ', l.reason, l.actor, l.detail::text)

-- query: keyed
SELECT m.position, m.idempotency_key FROM {receipts} m WHERE {scope_m} AND {suspect}

-- query: digests
-- The requests that wrote some entries, or notes that go.
SELECT r.position FROM {receipts} r JOIN {ledger} l ON {scope_l} AND l.position = r.position
WHERE {scope_r} AND (l.memory_id = ANY ({ids})
    OR coalesce(l.detail ->> 'corroboration', l.detail ->> 'contradiction')::uuid = ANY ({rows}))

-- query: erase
SELECT e.r_table, e.r_ids FROM {erase}({arguments}, {ids}, {moment}, {noted}, {rows}, {digests}, {keys}) e
