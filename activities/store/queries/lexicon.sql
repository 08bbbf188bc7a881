-- The words of builds: how long passages are on average, and in how many of them each term stands.

-- freeze_average --
-- The first batch decides; one that comes at the same moment waits for it, and takes what it says.
UPDATE {schema}.build SET avgdl = %(avgdl)s WHERE build_id = %(build_id)s AND avgdl IS NULL RETURNING avgdl;

-- average --
SELECT avgdl FROM {schema}.build WHERE build_id = %(build_id)s AND avgdl IS NOT NULL;
