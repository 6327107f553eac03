-- Removes a member from the ejected members of its pool, unless it was ejected in a later epoch.
--
-- KEYS[1]  ejected members of the pool: a sorted set of breaker ids, by epoch
-- ARGV[1]  id of the member's breaker
-- ARGV[2]  epoch since which it is closed
--
-- Result: 1

local ejectedKey = KEYS[1]
local id, epoch = ARGV[1], tonumber(ARGV[2])

local ejectedEpoch = redis.call('ZSCORE', ejectedKey, id)
if ejectedEpoch and tonumber(ejectedEpoch) <= epoch then redis.call('ZREM', ejectedKey, id) end
return 1
