-- Registers a node as alive, and removes the nodes whose last heartbeat has expired.
--
-- KEYS[1]  live nodes: a sorted set, by the time at which each expires
-- KEYS[2]  records of the nodes: a hash
-- ARGV[1]  node
-- ARGV[2]  record of the node, as JSON
-- ARGV[3]  milliseconds after which the node expires without another heartbeat
--
-- Result: { 1 if the node was registered before, else 0; number of live nodes; time of Redis in milliseconds }
--
-- Publishes { left = true, node = node } for each expired node, and { joined = true, node = node } for a new one.

local liveKey, recordsKey = KEYS[1], KEYS[2]
local node, record, ttlMs = ARGV[1], ARGV[2], tonumber(ARGV[3])

local DAY_MS = 86400000

local isKnown = redis.call('ZSCORE', liveKey, node)
redis.call('ZADD', liveKey, now + ttlMs, node)
redis.call('HSET', recordsKey, node, record)

local expired = redis.call('ZRANGEBYSCORE', liveKey, '-inf', now)
for _, expiredNode in ipairs(expired) do
  redis.call('ZREM', liveKey, expiredNode)
  redis.call('HDEL', recordsKey, expiredNode)
  publish({ left = true, node = expiredNode })
end
if not isKnown then publish({ joined = true, node = node }) end

redis.call('PEXPIRE', liveKey, DAY_MS)
redis.call('PEXPIRE', recordsKey, DAY_MS)
return { isKnown and 1 or 0, redis.call('ZCARD', liveKey), now }
