-- query: suspect
-- A first look, which may find too much and never too little: a text of ASCII alone names the
-- subject only if it holds one of these runs, and any other text is looked at outside.
({text} ~ '[^\x01-\x7f]' OR {text} ILIKE ANY (%(runs)s::text[]))

-- query: mentioned
-- Entries in every tier and state that may name the subject. One without a salt is empty.
SELECT m.memory_id, m.body_text, m.envelope, m.claim_subject, m.claim_attribute, m.claim_value
FROM {family}_memory m WHERE {scope m} AND m.digest_salt IS NOT NULL AND {suspect}

-- query: entry_text
concat_ws(' ', m.body_text, m.envelope::text, m.claim_subject, m.claim_attribute, m.claim_value)

-- query: derived
-- What was made of some entries, and of that, and so on. What only said the same again was not
-- made of it. Empty ones have nothing left to lose.
WITH RECURSIVE made (memory_id) AS (
    SELECT l.memory_id FROM {family}_memory_lineage l
    WHERE {scope l} AND l.source_id = ANY (%(ids)s::uuid[]) AND l.relation <> 'recurred'
    UNION
    SELECT l.memory_id FROM made JOIN {family}_memory_lineage l
        ON {scope l} AND l.source_id = made.memory_id AND l.relation <> 'recurred')
SELECT m.memory_id FROM made JOIN {family}_memory m ON {scope m} AND m.memory_id = made.memory_id
WHERE m.digest_salt IS NOT NULL

-- query: noted
SELECT m.{row_id}, m.memory_id, m.{column} FROM {table} m WHERE {scope m} AND {suspect}

-- query: named
-- Who acted, by one column that says so: each value once.
SELECT m.{column}, count(*) FROM {table} m WHERE {scope m} AND {suspect} GROUP BY 1

-- query: provided
-- Contextual provenance by its name, each value once.
SELECT p.key, p.value, count(*) FROM {table} m CROSS JOIN LATERAL jsonb_each_text(m.provenance) AS p
WHERE {scope m} AND {suspect} GROUP BY 1, 2 ORDER BY 1, 2

-- query: told
SELECT l.position, l.reason, l.actor, l.detail FROM {family}_memory_ledger l
WHERE {scope l} AND {suspect}

-- query: told_text
concat_ws(' ', l.reason, l.actor, l.detail::text)

-- query: keyed
SELECT m.position, m.idempotency_key FROM {family}_memory_receipts m WHERE {scope m} AND {suspect}

-- query: digests
-- The requests that wrote some entries, or notes that go.
SELECT r.position FROM {family}_memory_receipts r
JOIN {family}_memory_ledger l ON {scope l} AND l.position = r.position
WHERE {scope r} AND (l.memory_id = ANY (%(ids)s::uuid[])
    OR coalesce(l.detail ->> 'corroboration', l.detail ->> 'contradiction')::uuid
       = ANY (%(rows)s::uuid[]))

-- query: logged
-- Events that may name the subject. One without a salt is empty.
SELECT m.event_id, m.content, m.metadata FROM {family}_log m
WHERE {scope m} AND m.salt <> '' AND {suspect}

-- query: event_text
concat_ws(' ', m.content, m.metadata::text)

-- query: operational
SELECT m.note_id, m.body FROM {family}_notes m
WHERE {scope m} AND m.body <> '[erased]' AND {suspect}

-- query: mirrored
-- Entries of the long-term mirror with their events: neither goes without the other.
SELECT m.event_id, m.memory_id FROM {family}_memory m
WHERE {scope m} AND m.event_id IS NOT NULL AND m.digest_salt IS NOT NULL
  AND (m.event_id = ANY (%(events)s::uuid[]) OR m.memory_id = ANY (%(ids)s::uuid[]))

-- query: erase_log
SELECT e.r_table, e.r_ids
FROM {family}_erase_log_v1(%(tenant)s, %(anchor_id)s, %(events)s::uuid[], %(notes)s::uuid[]) e

-- query: erase
SELECT e.r_table, e.r_ids
FROM {family}_erase_v1(%(tenant)s, %(anchor_id)s, %(ids)s::uuid[], %(moment)s, %(noted)s::uuid[],
                       %(rows)s::uuid[], %(digests)s::bigint[], %(keys)s::bigint[]) e
