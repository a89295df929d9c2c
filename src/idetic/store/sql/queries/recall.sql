-- query: settings
-- Local to the recall. Row-level security makes the planner expect a single row of an anchor, and
-- with it nested loops over a thousand; hashing is right for either, and so is an index where
-- the plan is older than the rows. Sorts that nothing can replace still happen; a large anchor's
-- vectors come from their index instead, which is walked until enough of this scope are found.
SET LOCAL enable_nestloop = off; SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off;
SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL hnsw.iterative_scan = strict_order

-- query: recall
-- One statement from query to hits. `base` is what may be recalled at all, read once; `sem` and
-- `lex` score it; what one signal ranks among its best is a candidate; every candidate gets every
-- signal's value and rank; the fused best come back as entries.
WITH facts AS MATERIALIZED (
    SELECT {active} AS profile_id, {small} AS small
), base AS MATERIALIZED (
    SELECT m.memory_id, m.tier, m.typology, m.substance, m.valid_at, m.exempt_at, {words},
           {envelope_value} AS envelope
    FROM {memory} m {as_of_join}
    WHERE {scope_m} AND {visible}
), sem AS MATERIALIZED (
    {semantic}
), {lexical},
scored AS MATERIALIZED (
    SELECT b.memory_id, b.tier, b.typology, b.substance, b.valid_at, b.exempt_at, b.envelope,
           sem.distance, lex.score AS words
    FROM base b LEFT JOIN sem USING (memory_id) LEFT JOIN lex USING (memory_id)
), valued AS MATERIALIZED (
    SELECT m.memory_id, m.tier, m.envelope, m.distance,
        {semantic_value} AS semantic,
        m.words / (SELECT max(score) FROM lex) AS lexical,
        {decay_value} AS decay,
        CASE WHEN m.substance IS NOT NULL THEN least(1, ln(1 + m.substance) / ln(65)) END AS substance
    FROM scored m WHERE {nominated}
), ranked AS (
    SELECT v.*, {ranks} FROM valued v
), top AS MATERIALIZED (
    -- A compared vector is reason enough to be found, however far off it is: whoever asks for k
    -- gets k where k exist, and the distance says how little they may mean.
    SELECT * FROM (SELECT r.*, {reach} AS reach, {reach} * ({fusion}) AS score FROM ranked r) f
    WHERE reach > 0 AND (score > 0 OR distance IS NOT NULL)
    ORDER BY score DESC, distance, memory_id DESC LIMIT {limit}
)
SELECT counts.considered, counts.candidates, counts.embedded, counts.profile_id,
       top.score, {outcomes}, {strength}, {columns}
FROM (SELECT count(*) AS considered, (SELECT count(*) FROM valued) AS candidates,
             count(distance) AS embedded, (SELECT profile_id FROM facts) AS profile_id
      FROM scored) counts
LEFT JOIN top ON true
LEFT JOIN {memory} m ON {scope_m} AND m.memory_id = top.memory_id
                    AND m.memory_id = ANY ((SELECT array_agg(memory_id) FROM top)::uuid[])
ORDER BY top.score DESC NULLS LAST, top.distance, m.memory_id DESC

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
FROM {embeddings} e
WHERE {scope_e} AND e.profile_id = {profile} AND (SELECT profile_id = {profile} AND small FROM facts)

-- query: semantic_indexed
-- One cell of a large anchor through its partial HNSW index. IS TRUE keeps the visible ones a
-- filter on that scan, which goes on until there are enough; a join would sort all vectors.
(SELECT e.memory_id, e.embedding OPERATOR({vector_schema}.<#>) {vector} AS distance
 FROM {embeddings} e
 WHERE {scope_e} AND e.profile_id = {profile} AND e.tier = {tier} AND e.typology = {typology}
   AND (SELECT profile_id = {profile} AND NOT small FROM facts)
   AND (e.memory_id IN (SELECT memory_id FROM base)) IS TRUE
 ORDER BY e.embedding OPERATOR({vector_schema}.<#>) {vector} LIMIT {pool})

-- query: semantic_none
SELECT NULL::uuid AS memory_id, NULL::float8 AS distance WHERE false

-- query: lexical_none
lex AS (SELECT NULL::uuid AS memory_id, NULL::float8 AS score WHERE false)

-- query: words
-- The place an entry stands in, its length, and the query's words in it: they get a weight of
-- their own, so that the rest can be filtered out before anything is unfolded.
coalesce(m.interaction_id, m.session_id, m.memory_id) AS place, length(m.lexemes) AS len,
ts_filter(setweight(m.lexemes, 'A', {terms}), '{{a}}') AS words

-- query: lexical
-- BM25 (k1 1.2, b 0.75) over each entry together with its neighbours in the same interaction or
-- session, with this scope's statistics.
windows AS MATERIALIZED (
    SELECT memory_id, (sum(len) OVER w)::float8 AS len, {around} AS words
    FROM base
    WINDOW w AS (PARTITION BY place ORDER BY memory_id
                 ROWS BETWEEN {before} PRECEDING AND {after} FOLLOWING)
), hits AS MATERIALIZED (
    SELECT memory_id, len, (word).lexeme, cardinality((word).positions)::float8 AS tf
    FROM (SELECT memory_id, len, unnest(words) AS word FROM windows WHERE length(words) > 0) unfolded
), idf AS (
    SELECT lexeme, ln(1 + ((SELECT count(*) FROM base) - count(*) + 0.5::float8) / (count(*) + 0.5::float8)) AS idf
    FROM hits GROUP BY lexeme
), lex AS MATERIALIZED (
    SELECT h.memory_id,
           sum(i.idf * h.tf * 2.2 / (h.tf + 0.3 + h.len * (SELECT 0.9 / greatest(avg(len), 1) FROM windows))) AS score
    FROM hits h JOIN idf i USING (lexeme)
    GROUP BY h.memory_id
)

-- query: nominate_semantic
m.distance <= coalesce((SELECT distance FROM scored WHERE distance IS NOT NULL
                        ORDER BY distance OFFSET {pool} - 1 LIMIT 1), 'infinity')

-- query: nominate_lexical
m.words >= coalesce((SELECT score FROM lex ORDER BY score DESC OFFSET {pool} - 1 LIMIT 1), 0)

-- query: nominate_envelope
m.envelope > 0 AND m.envelope >= coalesce(
    (SELECT envelope FROM base ORDER BY envelope DESC OFFSET {pool} - 1 LIMIT 1), 0)

-- query: nominate_decay
-- The newest.
m.memory_id >= coalesce((SELECT memory_id FROM base ORDER BY memory_id DESC OFFSET {pool} - 1 LIMIT 1),
                        '00000000-0000-0000-0000-000000000000')

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
