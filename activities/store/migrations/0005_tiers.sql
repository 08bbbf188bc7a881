-- 0005: tiers of the words of passages.
-- What: for each passage, which of its terms it has much of, and how much.
-- Why:  a question of common words alone had to weigh every passage that has one of them. With this its best are found first, and it is
--       known how little any other passage can have.
-- Locks: a column without a default, which rewrites no table. Milliseconds.

ALTER TABLE {schema}.chunk
  ADD tiers int[];  -- a key for each term that reaches a tier (headwater/lexical/tiers.py); NULL: of a build whose rule has none
