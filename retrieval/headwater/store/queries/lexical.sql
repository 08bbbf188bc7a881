-- The lexical leg. A passage matches if it has any term of the question; the score says how well. Where each passage that a reader may
-- read is looked at, there is no more to it. Else an index gives the passages that have a term: they are weighed, which is cheap,
-- and from the best on it is asked whether this reader may see them, until there are enough. That is up to three looks: the first at
-- the lists that take least for what they add, a wider one where others may hold a better passage, and a last one at all that match.
--   terms   lexeme number df said weight; place: 1 is the rarest; until: postings of it and those before it; is_telling
--   listed  a list of a term: tier key postings; gain: what it can add to a score; running: postings up to it, in the order in which
--           they are worth it; still: what it and those behind it can add
--   picked  query tiers accompanied: what is looked up; beyond: what a passage in none of it can score. Picked by b: most postings,
--           in_company: whether passages with one term only may be left out
-- places: score is_picked lists matches those postings normalisation telling tiers tier_key ceiling few_terms

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
-- What is looked for, the rarest first: in how many passages a term stands, and it with those before it, and how much it weighs.
-- Counts may lag behind, and what was never counted is rare. Words that share a number are weighed as one, which is said as often as the
-- one that is said most: so none of their passages can score more than their weight says.
terms AS MATERIALIZED (
  SELECT u.*, u.df <= {telling} * p.n_counted AS is_telling, row_number() OVER (ORDER BY u.df, u.number, u.lexeme) AS place,
         sum(u.df) OVER (ORDER BY u.df, u.number, u.lexeme) AS until,
         u.said * ln(1 + (greatest(p.n_counted, u.df) - u.df + 0.5) / (u.df + 0.5)) AS weight
  FROM pointer p
  CROSS JOIN LATERAL (
    SELECT q.lexeme, q.number, max(q.said) OVER (PARTITION BY q.number) AS said, coalesce((
      SELECT f.df FROM {schema}.term_df f WHERE f.build_id = p.build_id AND f.term = q.number LIMIT 1), 0)::float8 AS df
    FROM unnest(%(lexemes)s::text[], %(numbers)s::int[], %(said)s::int[]) AS q (lexeme, number, said)) u)

-- whole_lists --
-- Passages are listed by the terms that they have: how many that are, and how much they can score by it that all others cannot. A
-- passage's half of a weight is at most {ceiling}, however often it has the term.
SELECT lexeme, place, df, until, weight, 0 AS tier, NULL::int AS key, df AS postings, {ceiling} * weight AS gain FROM terms

-- tiered_lists --
-- And by tiers, the highest first: whoever is in none of them has less of the term than the lowest begins with. Tier 0 stands for
-- all others that have it. Of a term that few passages have, that is all of them.
SELECT t.lexeme, t.place, t.df, t.until, t.weight, v.tier, v.key,
       CASE v.tier WHEN 0 THEN greatest(0, t.df - coalesce(sum(v.df) OVER (PARTITION BY t.place), 0)) ELSE v.df END AS postings,
       (v.high - v.low) * t.weight AS gain
FROM terms t
CROSS JOIN LATERAL (
  SELECT 0 AS tier, NULL::int AS key, 0.0 AS low, {ceiling} AS high, 0::float8 AS df WHERE t.df <= {postings} / 16
  UNION ALL
  SELECT k.tier, k.key, k.low, k.high, coalesce((
    SELECT f.df FROM {schema}.term_df f WHERE f.build_id = (SELECT build_id FROM pointer) AND f.term = k.key LIMIT 1), 0)::float8
  FROM (SELECT n.*, {tier_key} AS key FROM (VALUES {tiers}) AS n (tier, low, high)) k WHERE t.df > {postings} / 16) v

-- in_order --
-- In the order in which they are worth looking up: by how many passages each takes for what it gains. No list comes before the higher
-- tiers of its term.
SELECT r.*, sum(r.postings) OVER by_price AS running, sum(r.gain) OVER () - sum(r.gain) OVER by_price + r.gain AS still
FROM (
  SELECT l.*, max(l.postings / l.gain) OVER (PARTITION BY l.place ORDER BY l.tier DESC) AS price
  FROM ({lists}) l) r
WINDOW by_price AS (ORDER BY r.price, r.place, r.tier DESC)

-- cheapest --
-- MaxScore: what is only in the other lists seldom scores enough. Up to b.most passages, but always as many as are asked for. Where no
-- number of lists is enough, the rarest terms with all that have them: of several common words the best passages have some of each and
-- much of none, and then tiers miss them.
CASE WHEN b.most IS NULL THEN until <= {postings} OR until - df < {candidates}
     ELSE running <= b.most OR running - postings < {candidates} END

-- company --
-- Two of the terms, where they are few.
(SELECT string_agg(one || ' & (' || others || ')', ' | ')::tsquery
 FROM (
   SELECT {quoted} AS one, string_agg({quoted}, ' | ') OVER (ORDER BY place ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS others
   FROM terms) t
 WHERE (SELECT count(*) FROM terms) <= {few_terms})

-- picked_lists --
-- What is looked up: passages with any term of query; those in any tier of tiers; and those in any tier of accompanied that have
-- another term too, where none that has no other one can score more than beyond, as whoever is in none of all that scores.
SELECT p.query::tsquery AS query, p.beyond,
       CASE WHEN p.is_accompanied THEN '{}' ELSE coalesce(p.keys, '{}') END AS tiers,
       CASE WHEN p.is_accompanied THEN p.keys ELSE '{}' END AS accompanied
FROM (
  SELECT {any_of} FILTER (WHERE is_picked AND tier = 0) AS query, coalesce(sum(gain) FILTER (WHERE NOT is_picked), 0) AS beyond,
         array_agg(key) FILTER (WHERE is_tier) AS keys,
         {ceiling} * max(weight) FILTER (WHERE is_tier) <= sum(gain) FILTER (WHERE NOT is_picked)
           AND b.in_company AND (SELECT company IS NOT NULL FROM asked) AS is_accompanied
  FROM (
    SELECT q.*, q.is_picked AND q.tier > 0 AND NOT bool_or(q.is_picked AND q.tier = 0) OVER (PARTITION BY q.place) AS is_tier
    FROM (SELECT i.*, {is_picked} AS is_picked FROM listed i) q) l) p

-- weights --
-- As a vector; its dimensions are written from 1. Terms that share a number share a weight.
(SELECT ('{' || string_agg((number + 1)::text || ':' || weight::real::text, ',' ORDER BY number) || '}/1000000000')::sparsevec
 FROM (SELECT number, max(weight) AS weight FROM terms GROUP BY number) w)

-- quoted --
-- In a tsquery both quotes and backslashes are doubled.
'''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || ''''

-- any_of --
-- Terms of which each is enough.
string_agg({quoted}, ' | ' ORDER BY place)

-- queries --
(SELECT {any_of} FROM terms)::tsquery AS whole, (SELECT {any_of} FROM terms WHERE is_telling)::tsquery AS telling

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

-- by_terms --
c.tsv @@ a.query

-- by_tiers --
(c.tsv @@ a.query OR c.tiers && a.tiers OR c.tiers && a.accompanied AND c.tsv @@ (SELECT company FROM asked))

-- looked_up --
-- The passages that are picked in a, from the best on. All that score as much as the last one come with it, as nobody knows
-- yet which of them is first. OFFSET 0: the gate, which costs more than the weighing, stays outside.
SELECT c.rev_id, c.chunk_no, c.score
FROM (
  SELECT c.rev_id, c.chunk_no, c.metadata, {score} AS score
  FROM {schema}.chunk c
  WHERE c.slab = {slab} AND {matches}
  ORDER BY score DESC
  OFFSET 0) c
WHERE {gate}
ORDER BY c.score DESC
FETCH FIRST {candidates} ROWS WITH TIES

-- lexical_graph --
-- First with few lists, which mostly give enough to know which other ones are wanted, if any; then with those; and with all terms,
-- should that give too little.
, {terms},
asked AS MATERIALIZED (SELECT {weights} AS weights, {queries}, {company} AS company),
listed AS MATERIALIZED ({in_order}),
first AS MATERIALIZED (
  SELECT k.* FROM (SELECT {postings} / 4 AS most, true AS in_company) b CROSS JOIN LATERAL ({picked_lists}) k
  WHERE NOT (SELECT is_small FROM size)),
first_look AS MATERIALIZED (SELECT l.* FROM first a CROSS JOIN LATERAL ({looked_up}) l),
wider AS MATERIALIZED (
  SELECT k.*
  FROM (
    SELECT n.least, n.in_company, CASE WHEN n.needed <= greatest({postings}, (SELECT min(until) FROM terms WHERE until >= {candidates})) THEN n.needed END AS most
    FROM (
      SELECT f.*, (SELECT min(running) FROM listed WHERE still - gain <= f.least) AS needed
      FROM (
        SELECT CASE WHEN count(*) >= {candidates} THEN min(score) ELSE 0 END AS least, count(*) >= {candidates} AS in_company
        FROM first_look) f) n) b
  CROSS JOIN LATERAL ({picked_lists}) k
  WHERE (SELECT beyond FROM first) > b.least AND ((SELECT beyond FROM first) > k.beyond OR NOT b.in_company OR b.most IS NULL)),
wider_look AS MATERIALIZED (SELECT l.* FROM wider a CROSS JOIN LATERAL ({looked_up}) l),
looked AS MATERIALIZED (SELECT * FROM first_look UNION SELECT * FROM wider_look),
look AS MATERIALIZED (
  SELECT i.beyond, i.beyond > 0 AND (SELECT count(*) FROM looked) < {candidates} AS is_short
  FROM (SELECT least((SELECT beyond FROM first), (SELECT beyond FROM wider)) AS beyond) i),
last_look AS MATERIALIZED (
  SELECT l.*
  FROM (SELECT whole AS query, '{}'::int[] AS tiers, '{}'::int[] AS accompanied FROM asked WHERE (SELECT is_short FROM look)) a
  CROSS JOIN LATERAL ({looked_up}) l),
matching AS MATERIALIZED (
  SELECT * FROM ({each_weighed}) w
  UNION ALL
  SELECT l.rev_id, l.chunk_no, {source_of}, l.score
  FROM (
    SELECT * FROM looked WHERE (SELECT is_short IS NOT TRUE FROM look)
    UNION ALL
    SELECT * FROM last_look) l
  ORDER BY score DESC, source_id, chunk_no
  LIMIT {candidates})

-- enough --
-- No passage that was not looked up can score more than the last one that was found.
(SELECT is_small OR is_short IS TRUE OR beyond <= 0 OR beyond <= (SELECT min(score) FROM matching) FROM size, look)
