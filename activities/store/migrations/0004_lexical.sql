-- 0004: the words of passages.
-- What: each passage's terms, with their places and with their weights; by which rule a build's terms were made; in how many of
--       a build's passages each term stands.
-- Why:  a question is looked up by its words as well as by its vector. A weight has two halves: the passage's is stored with it and
--       never changes, the corpus's comes from the counts and is multiplied in by the question.
-- Locks: columns without defaults, or with constant ones, which rewrite no table; new objects. Milliseconds.
--
-- One more rule for every writer (the first six are in 0001 and 0002)
--   7. Counts follow what a build shows at its head, later and without the scope's lock. A revision that is counted is uncounted
--      before its chunks are deleted.

ALTER TABLE {schema}.chunk
  ADD tsv tsvector,                                  -- terms and the places of their words; NULL: of a build without a lexicon
  ADD bm  sparsevec(1000000000);                     -- numbers of the terms, and the passage's half of their BM25 weights
-- Inline, as the vector: thousands of candidates are weighed for one question. The text moves out before it.
ALTER TABLE {schema}.chunk ALTER bm SET STORAGE MAIN;

ALTER TABLE {schema}.build
  ADD lexicon   text COLLATE "C",                    -- rule and language of its terms: 'words-1:english'; NULL: made before there were any
  ADD avgdl     double precision CHECK (avgdl > 0),  -- terms of a passage, on average: measured at its first ones, then never changed
  ADD n_counted bigint NOT NULL DEFAULT 0,           -- passages that the counts below are of
  ADD counted_gen bigint NOT NULL DEFAULT -1;        -- the counts are of what the live build showed at this generation, or of later

CREATE TABLE {schema}.term_df (                      -- in how many of a build's passages a term stands
  build_id bigint NOT NULL REFERENCES {schema}.build ON DELETE CASCADE,
  term     int NOT NULL,                             -- its number
  df       bigint NOT NULL,
  PRIMARY KEY (build_id, term)
) WITH (fillfactor = 70);

CREATE TABLE {schema}.counted (                      -- revisions whose passages are in the counts
  build_id bigint NOT NULL REFERENCES {schema}.build ON DELETE CASCADE,
  rev_id   bigint NOT NULL,
  n_chunks int NOT NULL,
  PRIMARY KEY (build_id, rev_id)
);
