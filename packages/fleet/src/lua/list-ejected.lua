-- Lists the ejected members of a pool. It is a script because the reply of ZRANGE WITHSCORES depends on the protocol version,
-- and the reply of a script does not.
--
-- KEYS[1]  ejected members of the pool: a sorted set of breaker ids, by epoch
--
-- Result: { id, epoch, id, epoch, … }

return redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
