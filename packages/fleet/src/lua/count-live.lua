-- Counts the live nodes.
--
-- KEYS[1]  live nodes: a sorted set, by the time at which each expires
-- ARGV[1]  node
--
-- Result: { number of live nodes; 1 if the node is registered, else 0 }

local liveKey, node = KEYS[1], ARGV[1]

local live = redis.call('ZCOUNT', liveKey, '(' .. string.format('%.0f', now), '+inf')
return { live, redis.call('ZSCORE', liveKey, node) and 1 or 0 }
