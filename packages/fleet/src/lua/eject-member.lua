-- Adds a member to the ejected members of its pool: its breaker is not closed.
--
-- KEYS[1]  ejected members of the pool: a sorted set of breaker ids, by epoch
-- ARGV[1]  id of the member's breaker
-- ARGV[2]  epoch since which it is not closed; a lower one than is stored changes nothing
-- ARGV[3]  milliseconds for which the set is kept at least
--
-- Result: 1

local ejectedKey = KEYS[1]
local id, epoch, ttlMs = ARGV[1], ARGV[2], tonumber(ARGV[3])

redis.call('ZADD', ejectedKey, 'GT', epoch, id)
redis.call('PEXPIRE', ejectedKey, math.max(ttlMs, redis.call('PTTL', ejectedKey)))
return 1
