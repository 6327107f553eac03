-- The beginning of every script about cooldowns, after prelude.lua. Deletes the cooldowns that have ended.
--
-- KEYS[1]  cooldowns of a pool: a sorted set of members, by the time at which each ends
-- ARGV[1]  node that sends the command
-- ARGV[2]  pool
-- ARGV[3]  member

local cooldownsKey = KEYS[1]
local node, pool, member = ARGV[1], ARGV[2], ARGV[3]

redis.call('ZREMRANGEBYSCORE', cooldownsKey, '-inf', now)

local function cooldownEnd() return tonumber(redis.call('ZSCORE', cooldownsKey, member) or '0') end

local function publishCooldown(left) publish({ rest = pool, member = member, left = left, node = node }) end
