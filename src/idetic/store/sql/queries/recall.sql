-- query: recall
-- One statement from query to hits. `base` is what may be recalled at all; `sem` and `lex` score
-- it; the best of each, with the freshest and the best envelope matches, are the candidates;
-- every candidate gets every signal's value and rank; the fused best come back as entries.
WITH base AS MATERIALIZED (
    SELECT m.memory_id, m.lexemes, coalesce(m.interaction_id, m.session_id) AS place,
           {envelope_value} AS envelope
    FROM {memory} m {as_of_join}
    WHERE {scope_m} AND {visible}
), sem AS MATERIALIZED (
    {semantic}
), hits AS MATERIALIZED (
    SELECT b.memory_id, t.lexeme, cardinality(t.positions)::float8 AS tf
    FROM base b CROSS JOIN LATERAL unnest(b.lexemes) t
    WHERE b.lexemes @@ {tsquery} AND t.lexeme = ANY ({terms})
), idf AS (
    SELECT h.lexeme, ln(1 + ((SELECT count(*) FROM base) - count(*) + 0.5) / (count(*) + 0.5)) AS idf
    FROM hits h GROUP BY h.lexeme
), lex AS MATERIALIZED (
    {lexical}
), candidates AS (
    (SELECT memory_id FROM sem ORDER BY distance, memory_id LIMIT {pool})
    UNION (SELECT memory_id FROM lex ORDER BY score DESC, memory_id LIMIT {pool})
    UNION (SELECT memory_id FROM base WHERE envelope > 0 ORDER BY envelope DESC, memory_id LIMIT {pool})
    UNION (SELECT memory_id FROM base ORDER BY memory_id DESC LIMIT {fresh})
), valued AS (
    SELECT c.memory_id, m.tier, b.envelope,
        {semantic_value} AS semantic,
        lex.score / (SELECT max(score) FROM lex) AS lexical,
        {decay_value} AS decay,
        CASE WHEN m.substance IS NOT NULL THEN least(1, ln(1 + m.substance) / ln(65)) END AS substance
    FROM candidates c
    JOIN base b ON b.memory_id = c.memory_id
    JOIN {memory} m ON {scope_m} AND m.memory_id = c.memory_id
    LEFT JOIN sem ON sem.memory_id = c.memory_id
    LEFT JOIN lex ON lex.memory_id = c.memory_id
), ranked AS (
    SELECT v.*, {ranks} FROM valued v
), fused AS (
    SELECT r.*, {fusion} AS score FROM ranked r
), top AS (
    SELECT * FROM fused WHERE score > 0 ORDER BY score DESC, memory_id DESC LIMIT {limit}
)
SELECT counts.considered, counts.candidates, counts.embedded, counts.profile_id,
       top.score, {outcomes}, {strength}, {columns}
FROM (SELECT (SELECT count(*) FROM base) AS considered, (SELECT count(*) FROM candidates) AS candidates,
             (SELECT count(*) FROM sem) AS embedded, {active} AS profile_id) counts
LEFT JOIN top ON true
LEFT JOIN {memory} m ON {scope_m} AND m.memory_id = top.memory_id
ORDER BY top.score DESC NULLS LAST, m.memory_id DESC

-- query: visible_now
-- The current view.
m.archived_at IS NULL AND m.superseded_at IS NULL AND m.invalidated_at IS NULL AND m.deleted_at IS NULL

-- query: as_of
-- The state of an entry at a moment, from the ledger.
CROSS JOIN LATERAL (
    SELECT l.state_to FROM {ledger} l
    WHERE {scope_l} AND l.memory_id = m.memory_id AND l.at <= {moment} AND l.state_to IS NOT NULL
    ORDER BY l.position DESC LIMIT 1) AS past

-- query: semantic_exact
-- Every vector of the scope, compared exactly: below some 20,000 entries an anchor's own rows
-- are read faster than a graph is walked, and nothing is missed.
SELECT e.memory_id, e.embedding OPERATOR({vector_schema}.<#>) {vector} AS distance
FROM {embeddings} e JOIN base USING (memory_id)
WHERE {scope_e} AND e.profile_id = {profile} AND {profile} = {active} AND {small}

-- query: semantic_indexed
-- One cell of a large anchor through its partial HNSW index; iterative scan goes on until
-- enough rows of this scope are found.
(SELECT e.memory_id, e.embedding OPERATOR({vector_schema}.<#>) {vector} AS distance
 FROM {embeddings} e JOIN base USING (memory_id)
 WHERE {scope_e} AND e.profile_id = {profile} AND e.tier = {tier} AND e.typology = {typology}
   AND {profile} = {active} AND NOT {small}
 ORDER BY e.embedding OPERATOR({vector_schema}.<#>) {vector} LIMIT {pool})

-- query: semantic_none
SELECT NULL::uuid AS memory_id, NULL::float8 AS distance WHERE false

-- query: lexical_own
-- BM25 (k1 1.2, b 0.75) over each entry's own words, with this scope's statistics.
SELECT h.memory_id, sum(i.idf * h.tf * 2.2 / (h.tf + 1.2 * (0.25 + 0.75 * length(b.lexemes) / n.mean))) AS score
FROM hits h JOIN idf i USING (lexeme) JOIN base b USING (memory_id)
CROSS JOIN (SELECT greatest(avg(length(lexemes)), 1) AS mean FROM base) n
GROUP BY h.memory_id

-- query: lexical_window
-- BM25 over each entry and its neighbours in the same interaction or session. A word found at
-- one place counts for the entries around it; lengths are the windows'.
SELECT s.memory_id, sum(i.idf * s.tf * 2.2 / (s.tf + 1.2 * (0.25 + 0.75 * s.len / n.mean))) AS score
FROM (
    SELECT p.memory_id, h.lexeme, sum(h.tf) AS tf, p.len
    FROM hits h JOIN placed q USING (memory_id)
    JOIN placed p ON p.place IS NOT DISTINCT FROM q.place
                 AND p.seq BETWEEN q.seq - {after} AND q.seq + {before}
    GROUP BY p.memory_id, h.lexeme, p.len) s
JOIN idf i USING (lexeme)
CROSS JOIN (SELECT greatest(avg(len), 1) AS mean FROM placed) n
GROUP BY s.memory_id

-- query: placed
-- The order of entries within their interaction or session, and the length of each window.
placed AS MATERIALIZED (
    SELECT memory_id, place, row_number() OVER w AS seq,
           sum(length(lexemes)) OVER (w ROWS BETWEEN {before} PRECEDING AND {after} FOLLOWING) AS len
    FROM base WINDOW w AS (PARTITION BY place ORDER BY memory_id)
),

-- query: small
-- Whether the anchor is small enough for exact comparison. Its chain is at least as long as it
-- has entries, and its length is at hand.
(SELECT coalesce(max(a.position), 0) <= {exact_below} FROM {anchors} a WHERE {scope_a})

-- query: active
-- The profile that this tenant's recalls use now.
(SELECT p.profile_id FROM {profiles} p WHERE {scope_tenant_p} ORDER BY p.activation_id DESC LIMIT 1)

-- query: strength
-- The strongest source an entry refers to, resolved now and never copied.
SELECT min(c.{strength_column}::text::idetic.source_strength) FROM {refs} r
JOIN {canonical} c ON c.{tenant} = r.{tenant} AND c.{canonical_id} = r.{canonical_id}
WHERE {scope_r} AND r.memory_id = m.memory_id
