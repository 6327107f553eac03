-- Writes a key, to find out whether Redis accepts writes.
--
-- KEYS[1]  key to write
--
-- Result: 1

redis.call('SET', KEYS[1], '1', 'PX', 10000)
return 1
