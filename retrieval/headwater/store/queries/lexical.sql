-- The lexical leg. A passage matches if it has any term of the question; the score says how well. Where each passage that a reader may
-- read is looked at, there is no more to it. Else an index gives the passages that have a term: they are weighed, which is cheap,
-- and from the best on it is asked whether this reader may see them, until there are enough.
-- places: score is_picked those postings normalisation telling

-- none --

-- not_asked --
NULL::boolean

-- always --
true

-- with_lexicon --
-- Terms of another lexicon are not looked for.
AND lexicon = %(lexicon)s

-- bm25 --
-- The passage's half of the weights times the corpus's half. Above zero if there is any term in common.
-(c.bm <#> (SELECT weights FROM asked))

-- fts --
-- Postgres's own measure, which does not know how common a term is. So those that stand in many passages decide only between
-- passages that are equal in all others. Above zero if there is any term in common.
coalesce(ts_rank(c.tsv, (SELECT telling FROM asked), {normalisation}), 0)
  + 1e-6 * ts_rank(c.tsv, (SELECT whole FROM asked), {normalisation})

-- unscored --
NULL::float8

-- terms --
-- What is looked for, the rarest first: how much a term weighs, and in how many passages it and those before it stand. Counts may
-- lag behind, and what was never counted is rare.
terms AS MATERIALIZED (
  SELECT t.*, {is_picked} AS is_picked
  FROM (
    SELECT u.*, u.df <= {telling} * p.n_counted AS is_telling, sum(u.df) OVER (ORDER BY u.df, u.number, u.lexeme) AS running,
           row_number() OVER (ORDER BY u.df, u.number, u.lexeme) AS place,
           u.said * ln(1 + (greatest(p.n_counted, u.df) - u.df + 0.5) / (u.df + 0.5)) AS weight
    FROM pointer p
    CROSS JOIN LATERAL (
      SELECT q.lexeme, q.number, q.said, coalesce((
        SELECT f.df FROM {schema}.term_df f WHERE f.build_id = p.build_id AND f.term = q.number LIMIT 1), 0)::float8 AS df
      FROM unnest(%(lexemes)s::text[], %(numbers)s::int[], %(said)s::int[]) AS q (lexeme, number, said)) u) t)

-- rarest --
-- MaxScore: what only has the common terms seldom scores enough. One term is always picked.
running <= {postings} OR place = 1

-- weights --
-- As a vector; its dimensions are written from 1. Terms that share a number share a weight.
(SELECT ('{' || string_agg((number + 1)::text || ':' || weight::real::text, ',' ORDER BY number) || '}/1000000000')::sparsevec
 FROM (SELECT number, max(weight) AS weight FROM terms GROUP BY number) w)

-- any_of --
-- Terms of which each is enough. In a tsquery both quotes and backslashes are doubled.
string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', ' | ' ORDER BY place)::tsquery

-- queries --
(SELECT {any_of} FROM terms) AS whole, (SELECT {any_of} FROM terms WHERE is_telling) AS telling

-- each_weighed --
-- All passages of {those} revisions. What scores nothing comes last, and is left out where it counts among the best.
SELECT * FROM (
  SELECT c.rev_id, c.chunk_no, d.source_id, {score} AS score
  FROM {those} d
  CROSS JOIN LATERAL ({passages}) c
  WHERE {filtered}
  ORDER BY score DESC, d.source_id, c.chunk_no
  LIMIT {candidates}) w
WHERE score > 0

-- lexical_shown --
, {terms},
asked AS MATERIALIZED (SELECT {weights} AS weights, {queries}),
matching AS MATERIALIZED ({each_weighed})

-- all_shown --
shown

-- few_shown --
(SELECT * FROM weighed WHERE (SELECT is_small FROM size))

-- looked_up --
-- Passages with any term of a.query, from the best on. All that score as much as the last one come with it, as nobody knows yet
-- which of them is first. OFFSET 0: the gate, which costs more than the weighing, stays outside.
SELECT c.rev_id, c.chunk_no, c.score
FROM (
  SELECT c.rev_id, c.chunk_no, c.metadata, {score} AS score
  FROM {schema}.chunk c
  WHERE c.slab = {slab} AND c.tsv @@ a.query
  ORDER BY score DESC
  OFFSET 0) c
WHERE {gate}
ORDER BY c.score DESC
FETCH FIRST {candidates} ROWS WITH TIES

-- lexical_graph --
-- With the terms that are picked; and with all of them, should those give too little. A passage's half of a weight is below 2.2,
-- however often it has a term.
, {terms},
asked AS MATERIALIZED (
  SELECT {weights} AS weights, {queries}, (SELECT {any_of} FROM terms WHERE is_picked) AS picked,
         (SELECT 2.2 * sum(weight) FROM terms WHERE NOT is_picked) AS beyond),
first_look AS MATERIALIZED (
  SELECT l.*
  FROM (SELECT picked AS query FROM asked WHERE NOT (SELECT is_small FROM size)) a CROSS JOIN LATERAL ({looked_up}) l),
look AS MATERIALIZED (
  SELECT NOT is_small AND beyond IS NOT NULL AND (SELECT count(*) FROM first_look) < {candidates} AS is_short FROM size, asked),
second_look AS MATERIALIZED (
  SELECT l.*
  FROM (SELECT whole AS query FROM asked WHERE (SELECT is_short FROM look)) a CROSS JOIN LATERAL ({looked_up}) l),
matching AS MATERIALIZED (
  SELECT * FROM ({each_weighed}) w
  UNION ALL
  SELECT l.rev_id, l.chunk_no, {source_of}, l.score
  FROM (SELECT * FROM first_look WHERE NOT (SELECT is_short FROM look) UNION ALL SELECT * FROM second_look) l
  ORDER BY score DESC, source_id, chunk_no
  LIMIT {candidates})

-- enough --
-- No passage that has none of the picked terms can score more than the last one that was found.
(SELECT is_small OR is_short OR beyond IS NULL OR beyond <= (SELECT min(score) FROM matching) FROM size, look, asked)
