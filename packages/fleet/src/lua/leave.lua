-- Removes a node that stops.
--
-- KEYS[1]  live nodes: a sorted set
-- KEYS[2]  records of the nodes: a hash
-- ARGV[1]  node
--
-- Result: 1
--
-- Publishes { left = true, node = node }.

local liveKey, recordsKey, node = KEYS[1], KEYS[2], ARGV[1]

redis.call('ZREM', liveKey, node)
redis.call('HDEL', recordsKey, node)
publish({ left = true, node = node })
return 1
