-- How a connection of the library is set up.
-- places: statement_s

-- session --
-- Planning these statements takes as long as searching a small corpus, so one generic plan is kept for each. It may be
-- made when the tables are still empty: without sequential scans it stays right when they have grown. Nor does it sort where
-- an index has the order: of a partition that was never analysed the planner believes that one passage of 200 lies in it,
-- and would look at all of them, one by one, rather than walk the graph.
-- A statement ends after a while, if neither the login nor the connection string has a limit of its own.
-- Reading only: the library writes nothing, and says so.
-- The literal loads pgvector, which until then would take any value for its settings. relaxed_order goes on until there are
-- enough candidates that this reader may see; strict_order would throw the best of them away. Of 40,000 passages of real texts
-- ef_search 40, 100, 200 and 400 found 0.954, 0.983, 0.998 and 0.998 of the nearest ten, in 1, 1.8, 3.2 and 4 times the time.
SELECT '[1]'::halfvec, set_config('plan_cache_mode', 'force_generic_plan', false), set_config('enable_seqscan', 'off', false),
       set_config('enable_sort', 'off', false), set_config('jit', 'off', false),
       set_config('default_transaction_read_only', 'on', false),
       set_config('hnsw.iterative_scan', 'relaxed_order', false), set_config('hnsw.ef_search', '200', false),
       set_config('hnsw.max_scan_tuples', '40000', false), set_config('hnsw.scan_mem_multiplier', '8', false),
       set_config('statement_timeout', CASE current_setting('statement_timeout') WHEN '0' THEN '{statement_s}s'
                                       ELSE current_setting('statement_timeout') END, false);

-- settings --
-- What came of them: a setting that pgvector does not know is taken by Postgres without a word, or with a mere warning.
SELECT current_setting('hnsw.iterative_scan') = 'relaxed_order' AND current_setting('hnsw.ef_search') = '200'
  AND current_setting('hnsw.max_scan_tuples') = '40000' AND current_setting('hnsw.scan_mem_multiplier') = '8';

-- ready --
-- Fails where there is no schema of ours, or none that this login may read.
SELECT live_build FROM {schema}.scope LIMIT 0;
